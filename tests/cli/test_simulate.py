import json

import pytest

from devote.simulator import Result

SMALL = ("simulate", "--means", ".9,.1", "--players", 32, "--trials", 3)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_the_table_says_what_a_person_asks_first(devote):
    ran = devote(*SMALL)
    assert ran.code == 0
    for words in (
        "samples",
        "all know",
        "per device",
        "broadcasts",
        "deliveries",
        "conflicts",
        "3 of 3",
        "arm 0 won",
        "mean 0.9",
        "claimed bound",
        "proved bound",
        "pulls per second",
    ):
        assert words in ran.out


def test_the_same_seed_gives_the_same_numbers_and_another_others(devote):
    first, again, other = (
        told(devote(*SMALL, "--json", "--seed", seed))["samples_until_all_know"]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_means_replace_a_problems_arms_and_keep_its_players(devote):
    ran = told(devote(*SMALL, "--problem", 2, "--json"))
    assert ran["problem"]["means"] == [0.9, 0.1]
    assert ran["problem"]["activity"] == "split:0.5,0.8"


def test_activity_replaces_who_wakes(devote):
    ran = told(devote(*SMALL, "--activity", "zipf:1.1", "--json"))
    assert ran["problem"]["activity"] == "zipf:1.1"


@pytest.mark.parametrize(("rule", "votes"), [("paper", 28), ("ceil", 29), ("5", 5)])
def test_quorum_is_a_rule_or_a_number(devote, rule, votes):
    assert told(devote(*SMALL, "--set", f"quorum={rule}", "--json"))["votes_needed"] == votes


@pytest.mark.parametrize("scheme", ["isolated", "pooled", "jury"])
def test_other_schemes(devote, scheme):
    ran = told(devote(*SMALL, "--scheme", scheme, "--json"))
    assert ran["scheme"] == scheme
    assert ran["status"]["agreed"] == 3
    assert (ran["votes_needed"] is None) == (scheme != "jury")
    assert devote(*SMALL, "--scheme", scheme).code == 0


def test_without_eta_it_is_the_schemes_own(devote):
    etas = [
        told(devote(*SMALL, *more, "--json"))["spec"]["eta"]
        for more in ((), ("--scheme", "jury"), ("--scheme", "jury", "--eta", ".1"))
    ]
    assert etas == [0.9, 0.2, 0.1]


def test_an_option_reaches_the_subroutine(devote):
    union, active = (
        told(devote(*SMALL, "--option", f"radius={form}", "--json")) for form in ("union", "active")
    )
    assert active["spec"]["options"] == {"radius": "active"}
    assert union["samples_until_all_know"] != active["samples_until_all_know"]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_horizon_too_small_for_any_trial_is_one_line_and_exit_code_2(devote, form):
    ran = devote(*SMALL, "--horizon", 100, *form)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err == (
        "devote: 0 of 3 trials ended within --horizon 100 pulls. "
        "Raise --horizon, or leave --horizon out to run to the end.\n"
    )


def test_a_horizon_that_some_trials_meet_is_said_plainly(devote):
    samples = told(devote(*SMALL, "--json"))["samples_until_all_know"]["values"]
    ran = devote(*SMALL, "--horizon", min(samples))
    assert ran.code == 0
    assert "1 of 3" in ran.out
    assert f"the horizon of {min(samples):,} pulls came first" in ran.out


def test_erratum_5_a_stall_names_the_arms_left(devote):
    ran = devote("simulate", "--means", ".7,.7,.1", "--players", 32, "--trials", 3)
    assert "still shared: arms 0, 1" in ran.out
    assert "holds a good arm" in ran.out
    assert "first arm is good" in ran.out


def test_the_winners_mean_is_that_at_the_end_of_the_run(devote):
    settings = ("--algorithm", "ser4", "--option", "phi=.0001", "--horizon", 180_000, "--trials", 3)
    ran = told(devote("simulate", "--problem", 4, *settings, "--json"))
    won = [pair for pair in zip(ran["winners"], ran["winner_means"], strict=True) if pair[0] == 8]
    assert won
    assert set(won) == {(8, 0.8)}
    assert ran["problem"]["means"][8] != 0.8
    table = devote("simulate", "--problem", 4, *settings)
    assert "mean 0.8 at the end" in table.out


def test_a_jurys_claims_are_among_its_broadcasts(devote):
    ran = devote(*SMALL, "--scheme", "jury")
    assert "claims and picks; 10 about one arm decide on it" in ran.out
    assert "proved bound" in ran.out


def test_a_jury_takes_its_own_parameters(devote):
    jury = (*SMALL, "--players", 60, "--scheme", "jury", "--json")
    usual, other = (
        told(devote(*jury)),
        told(devote(*jury, "--set", "seat_after=10", "--set", "liars=1")),
    )
    scheme = other["spec"]["scheme"]
    assert (scheme["seat_after"], scheme["liars"]) == (10, 1)
    assert (usual["votes_needed"], other["votes_needed"]) == (10, 11)


def test_ser4_runs_to_its_horizon(devote):
    ran = told(
        devote(*SMALL, "--algorithm", "ser4", "--option", "phi=.001", "--horizon", 5000, "--json")
    )
    assert ran["samples_until_all_know"]["values"] == [5000] * 3
    assert ran["resets"]["mean"] > 0


def test_save_keeps_every_trial(devote, tmp_path):
    file = tmp_path / "kept.npz"
    ran = told(devote(*SMALL, "--save", file, "--json"))
    assert (
        Result.load(file).samples_until_all_know.tolist() == ran["samples_until_all_know"]["values"]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept.npz"]
