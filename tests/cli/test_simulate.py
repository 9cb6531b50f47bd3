import json

import pytest

from devote.simulate import Result

SMALL = ("simulate", "--means", ".9,.1", "--players", 32, "--trials", 3)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_the_table_says_what_a_person_asks_first(devote):
    ran = devote(*SMALL)
    assert ran.code == 0
    for words in (
        "samples",
        "per device",
        "broadcasts",
        "deliveries",
        "conflicts",
        "3 of 3",
        "arm 0 won",
        "mean 0.9",
        "claimed bound",
        "honest bound",
        "any 28 of 32",
        "pulls per second",
    ):
        assert words in ran.out


def test_the_same_seed_gives_the_same_numbers_and_another_others(devote):
    first, again, other = (
        told(devote(*SMALL, "--json", "--seed", seed))["samples"] for seed in (1, 1, 2)
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
    assert told(devote(*SMALL, "--quorum", rule, "--json"))["quorum"] == votes


@pytest.mark.parametrize("protocol", ["isolated", "pooled", "jury"])
def test_other_protocols(devote, protocol):
    ran = told(devote(*SMALL, "--protocol", protocol, "--json"))
    assert ran["protocol"] == protocol
    assert ran["status"]["agreed"] == 3
    assert (ran["quorum"] is None) == (protocol != "jury")
    assert devote(*SMALL, "--protocol", protocol).code == 0


def test_an_option_reaches_the_subroutine(devote):
    union, active = (
        told(devote(*SMALL, "--option", f"radius={form}", "--json")) for form in ("union", "active")
    )
    assert active["spec"]["options"] == {"radius": "active"}
    assert union["samples"] != active["samples"]


def test_a_horizon_too_small_is_said_plainly(devote):
    ran = devote(*SMALL, "--horizon", 100)
    assert ran.code == 0
    assert "unfinished" in ran.out
    assert "the horizon of 100 pulls came first" in ran.out
    assert told(devote(*SMALL, "--horizon", 100, "--json"))["status"]["unfinished"] == 3


def test_ser4_runs_to_its_horizon(devote):
    ran = told(devote(*SMALL, "--algorithm", "ser4", "--phi", ".001", "--horizon", 5000, "--json"))
    assert ran["samples"]["values"] == [5000] * 3
    assert ran["resets"]["mean"] > 0


def test_save_keeps_every_trial(devote, tmp_path):
    file = tmp_path / "kept.npz"
    ran = told(devote(*SMALL, "--save", file, "--json"))
    assert Result.load(file).samples.tolist() == ran["samples"]["values"]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.npz"]
