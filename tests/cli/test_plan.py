import json

import pytest

SMALL = (
    *("plan", "--scheme", "decentralized", "--means", ".5,.5,.5", "--players", 60),
    *("--algorithm", "ser3", "--epsilon", ".4", "--trials", 3),
)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_plan_gathers_theory_and_a_quick_simulation(devote):
    plan = told(devote(*SMALL, "--events-per-day", 1000, "--json"))
    assert plan["votes_needed"] == 28
    assert list(plan["facts"].values()) == [28, 29]  # the rules paper and ceil
    assert (plan["scheme"], plan["n_players"]) == ("decentralized", 60)
    assert plan["message_bound"] == 83
    assert plan["failure"]["claimed"] == pytest.approx(0.0523, abs=1e-4)
    assert [row["name"] for row in plan["failure"]["bounds"]] == ["claimed", "if one arm is good"]
    assert plan["stall_possible"] is False
    assert plan["problem"]["means"] == [0.5, 0.5, 0.5]
    simulated = plan["simulated"]
    assert simulated["trials"] == 3
    device = simulated["per_device"]
    assert device["median"] <= device["p90"] <= device["busiest"]
    assert 0 < simulated["samples"]["mean"] < simulated["samples_until_all_know"]["mean"]
    spread = simulated["to_decision"]
    assert spread["mean"] == pytest.approx(simulated["samples"]["mean"])
    assert spread["low"] < spread["median"] < spread["high"]
    assert spread["median"] <= spread["p95"]
    assert plan["days"] == pytest.approx(simulated["samples_until_all_know"]["mean"] / 1000)
    assert plan["days_to_decision"] == pytest.approx(simulated["samples"]["mean"] / 1000)


def test_theorem_2_is_shown_with_one_good_arm_and_not_with_two(devote):
    """The command of erratum 15 printed a bound that all runs exceeded."""
    tied = ".7,.7,.1,.1,.1,.1,.1,.1,.1,.1"
    common = ("--players", 64, "--epsilon", ".25", "--activity", "split", "--trials", 2)
    common += ("--scheme", "decentralized")
    ran = devote("plan", "--means", tied, *common)
    assert "Theorem 2 does not hold here: 2 arms are epsilon-optimal" in ran.words
    assert "Simulated:" in ran.out
    assert "<=" not in ran.out
    plan = told(devote("plan", "--means", tied.replace(".7,.7", ".7,.4"), *common, "--json"))
    assert plan["theorem_2"]["samples"] > plan["simulated"]["samples"]["mean"]
    assert plan["promises"][0]["standing"] == "proved"


def test_a_jury_of_thousands_can_be_planned(devote):
    asked = ("--arms", 100, "--players", 5000, "--scheme", "jury", "--set", "seats=4286")
    ran = devote("plan", *asked, "--epsilon", ".01", "--seconds", "0.1", "--trials", 1)
    assert ran.code == 0
    assert "of 4286 honest jurors" in ran.words


def test_every_promise_has_a_standing_in_words(devote):
    plan = told(devote(*SMALL, "--json"))
    standing = [(promise["name"], promise["standing"]) for promise in plan["promises"]]
    assert standing == [
        ("right answer", "claimed"),
        ("one device", "proved"),
        ("few messages", "proved"),
        ("one answer", "proved"),
        ("privacy", "refuted"),
        ("right answer", "measured"),
    ]


def test_errata_5_and_20_the_risk_of_a_stall_is_told(devote):
    ran = devote(*SMALL, "--players", 40)
    assert "Up to 2 x 28 - 2 players can split" in ran.words
    few, enough = (told(devote(*SMALL, "--players", n, "--json")) for n in (54, 55))
    assert (few["stall_possible"], enough["stall_possible"]) == (True, False)
    [words] = [row["words"] for row in few["promises"] if row["name"] == "one answer"]
    assert "Use 55 players or more" in words


def test_the_table_states_the_assumed_arms_and_asks_for_events(devote):
    few = ("plan", "--scheme", "jury", "--arms", 3, "--set", "seats=5", "--players", 5)
    ran = devote(*few, "--trials", 1, "--seconds", "0.1")
    assert "click rates of a web shop, assumed: give yours with --means" in ran.words
    assert "--events-per-day" in ran.out
    assert "days" in devote(*SMALL, "--events-per-day", 100).out


def test_a_plan_warns_of_an_epsilon_under_which_every_option_passes_and_of_many_answers(devote):
    loose = ("plan", "--scheme", "survey", "--means", ".5,.4", "--epsilon", ".2", "--trials", 1)
    assert "Every option passes" in devote(*loose).words
    often = devote(*loose, "--epsilon", ".05", "--set", "answers=20", "--set", "privacy=none")
    assert "only if options pay all users alike" in often.words
    assert "wrong in .21 to .31 of runs" in often.words
    once = devote(*loose, "--epsilon", ".05", "--set", "privacy=none", "--players", 5_000)
    assert "only if options pay" not in once.words
    assert "users may differ: each answers once" in once.words


def test_a_costly_plan_is_cut_off_and_says_at_least(devote):
    costly = ("plan", "--scheme", "decentralized", "--arms", 10, "--players", 20_000)
    costly += ("--epsilon", ".01", "--seconds", "0.1")
    assert "at least" in devote(*costly).out
    plan = told(devote(*costly, "--json"))
    assert plan["simulated"]["unfinished"]
    assert plan["simulated"]["trials"] == 1


def test_a_jury_can_be_planned(devote):
    plan = told(devote(*SMALL, "--scheme", "jury", "--json"))
    assert plan["theorem_2"] is None
    assert plan["why_no_theorem_2"]
    assert plan["stall_possible"] is False  # 29 picks of 3 arms: one has 10
    assert plan["message_bound"] == 58 >= max(plan["simulated"]["broadcasts"]["values"])
    assert "never more than 58 claims and picks" in devote(*SMALL, "--scheme", "jury").out


def test_a_jury_of_unproved_subroutines_is_not_said_to_hold(devote):
    plan = told(devote(*SMALL, "--scheme", "jury", "--algorithm", "kl_racing", "--json"))
    right = plan["promises"][0]
    assert (right["name"], right["standing"]) == ("right answer", "claimed")
    assert "not proved here: kl_racing alone" in right["words"]
    assert [row["name"] for row in plan["failure"]["bounds"]] == ["claimed"]


def test_a_jury_takes_its_own_parameters(devote):
    jury = (
        *SMALL,
        "--players",
        80,
        "--scheme",
        "jury",
        "--set",
        "liars=1",
        "--set",
        "seat_after=7",
    )
    plan = told(devote(*jury, "--json"))
    scheme = plan["spec"]["scheme"]
    assert (scheme["liars"], scheme["seat_after"]) == (1, 7)
    assert plan["votes_needed"] == 11


def test_a_jury_takes_no_resets_and_says_so_before_it_simulates(devote):
    ran = devote(*SWITCHING, "--scheme", "jury")
    assert ran.code == 2
    assert "ser4 never ends" in ran.err


@pytest.mark.parametrize("axis", ["eta", "players", "epsilon"])
def test_a_sweep_draws_a_picture_and_keeps_its_data(devote, axis, tmp_path):
    picture = tmp_path / "sweep.svg"
    ran = told(
        devote(*SMALL, "--sweep", axis, "--out", picture, "--trials", 1, "--workers", 1, "--json")
    )
    assert ran["axis"] == axis
    assert len(ran["values"]) == len(ran["rows"]) >= 3
    assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.json", "sweep.svg"]


SWITCHING = (
    *("plan", "--algorithm", "ser4", "--means", ".8,.4,.1", "--players", 32, "--epsilon", ".25"),
    *("--switches", 2, "--horizon", 100_000, "--trials", 3),
)


def test_a_plan_for_ser4_recommends_a_phi_and_shows_the_printed_one(devote):
    plan = told(devote(*SWITCHING, "--json"))
    resets = plan["resets"]
    expected = (2 / (100_000 * resets["plays_per_term"])) ** 0.5
    assert plan["spec"]["algorithm"] == "ser4"
    assert plan["spec"]["options"]["phi"] == resets["phi"] == pytest.approx(expected)
    assert resets["printed_phi"] > 10 * resets["phi"]
    assert resets["plays"] < resets["plays_without"] < resets["plays_printed"]
    assert resets["votes"] == pytest.approx((1 + resets["resets"]) * plan["message_bound"])
    assert resets["failure_over_terms"] > resets["failure_printed"] >= 0.05
    assert resets["why_not_theorem_4"] == "epsilon=0.25 is below eta / n_arms = 0.3"
    assert plan["simulated"]["status"]["agreed"] == 3
    table = devote(*SWITCHING).out
    assert "phi, recommended" in table
    assert "phi, as printed" in table
    assert "Theorem 4 does not apply" in table


def test_a_plan_for_ser4_takes_a_phi(devote):
    plan = told(devote(*SWITCHING, "--option", "phi=1e-3", "--json"))
    assert plan["spec"]["options"]["phi"] == plan["resets"]["phi"] == 1e-3
    assert plan["resets"]["recommended_phi"] < 1e-3
    assert "promises no gain" in devote(*SWITCHING, "--option", "phi=1e-3").out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--means", ".5,.5,.5"), "no play is suboptimal"),
        (("--algorithm", "ser3"), "--algorithm ser4"),
        (("--switches", 0), "use ser3"),
        (("--horizon", 0), "1 or more"),
        (("--sweep", "eta"), "--algorithm ser3"),
    ],
)
def test_a_plan_for_ser4_says_what_it_cannot_do(devote, changed, words):
    ran = devote(*SWITCHING, *changed)
    assert ran.code != 0
    assert words in " ".join(ran.err.split())


def test_a_plan_for_ser4_asks_for_what_changes(devote):
    ran = devote("plan", "--algorithm", "ser4")
    assert ran.code != 0
    assert "--switches" in ran.err
    assert "--horizon" in ran.err
