"""``devote plan`` without a scheme: what it says, and to whom."""

import json
import re

import pytest

from devote.cli.main import COMMANDS, help_of

pytestmark = pytest.mark.usefixtures("shipped_schemes")

FLEET = ("plan", "--means", ".8,.4,.2", "--epsilon", ".2", "--trials", 60, "--seconds", 1)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_all_schemes_are_compared_and_one_is_named(devote):
    plan = told(devote(*FLEET, "--players", 5_000, "--plays-per-day", 1, "--json"))
    assert (plan["n_players"], plan["privacy"], plan["use"]) == (5_000, 1.0, "survey")
    rows = {row["scheme"]: row for row in plan["schemes"]}
    assert list(rows) == ["decentralized", "jury", "survey"]
    survey = rows["survey"]
    assert survey["can"]
    assert survey["proved_error"] <= 0.05
    assert survey["proved_privacy"] == 1.0
    simulated = survey["simulated"]
    assert (simulated["unit"], simulated["simulated_runs"]) == ("answers", 60)
    takes = simulated["takes"]
    assert takes["low"] < takes["mean"] < takes["high"]
    assert takes["median"] < takes["p95"] <= simulated["devices_needed"]
    assert 0 < simulated["days"]["mean"] < simulated["days"]["p95"] < 1
    assert rows["decentralized"]["cannot"][:2] == ["no error is proved", "no privacy is proved"]
    assert plan["relax"] == []
    assert {cost["asked"] for cost in plan["costs"]} == {
        "privacy",
        "liars",
        "epsilon",
        "flash crowd",
        "all alike",
    }
    assert "liars_to_turn" not in json.dumps(plan)


def test_the_default_is_a_web_shop(devote):
    plan = told(devote("plan", "--privacy", "none", "--trials", 20, "--seconds", 0.5, "--json"))
    assert plan["problem"]["means"] == [0.05, 0.04, 0.03, 0.03]
    assert (plan["visitors_per_day"], plan["epsilon"]) == (50_000.0, 0.005)
    assert plan["use"] == "survey"
    assert told(devote(*FLEET, "--visitors-per-day", 100, "--json"))["privacy"] == 1.0


def test_the_table_says_what_to_use_what_it_takes_and_how_to_write_it(devote):
    words = devote(*FLEET, "--visitors-per-day", 800, "--liars", 3).words
    for part in (
        "800 visitors a day, 3 options",
        "find an option that is at most 0.2 worse than the best",
        "up to 3 devices may lie",
        "Use survey. What you ask is proved of it",
        "no other scheme does it here",
        "95 % of runs",
        "60 simulated runs, 60 with an answer",
        "visitors needed",
        "privacy e none 4 2 1* 0.5",
        "lying devices 0 3* 10",
        "epsilon 0.1 0.2*",
        "a flash crowd",
        "its devices play again and again, and visitors come once",
        'scheme = { name = "survey", liars = 3 }',
    ):
        assert part in words
    assert "e+" not in words


def test_few_devices_get_a_jury_and_its_plays(devote):
    words = devote(*FLEET, "--players", 40, "--privacy", "none", "--plays-per-day", 5).words
    assert "Use jury. What you ask is proved of it" in words
    assert "plays of each device" in words
    assert re.search(r'scheme = { name = "jury", seats = \d+ }', words)


def test_where_none_can_it_says_so_plainly_and_what_would_do(devote):
    asked = (*FLEET, "--players", 60, "--privacy", "none", "--days", ".3")
    words = devote(*asked).words
    assert "No scheme can answer this question with 60 devices." in words
    assert "What would do, everything else as asked:" in words
    assert "devices instead of 60" in words
    assert "e+" not in words
    plan = told(devote(*asked, "--json"))
    assert plan["use"] is None
    assert plan["why"].startswith("No scheme can do this: decentralized: no error is proved")
    assert len(plan["relax"]) == 2
    for way in plan["relax"]:
        runs = way["simulated"]
        assert runs["decided_runs"] >= 0.95 * runs["simulated_runs"]


def test_where_rewards_change_nothing_is_proved_and_that_is_why_no_scheme_can(devote):
    drifting = ("plan", "--problem", 3, "--epsilon", ".1", "--players", 200, "--trials", 2)
    for fleet in ((), ("--visitors-per-day", 0.5)):
        words = devote(*drifting, "--seconds", 0.1, *fleet).words
        assert "No scheme can answer this question" in words
        assert "its error is not proved here" in words
    assert "0.5 visitors a day" in words


def test_events_of_all_devices_may_be_given_instead(devote):
    one, other = (
        told(devote(*FLEET, "--players", 3000, *flags, "--json"))
        for flags in (("--plays-per-day", 2), ("--events-per-day", 6_000))
    )
    assert one == other


def test_the_same_command_says_the_same(devote):
    one, other = (devote(*FLEET, "--players", 900, "--seed", 5, "--json").out for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--privacy", "much"), "or none"),
        (("--privacy", "0"), "privacy"),
        (("--privacy", "nan"), "privacy"),
        (("--set", "seats=5"), "Give --scheme as well"),
        (("--eta", ".2"), "Give --scheme as well"),
        (("--scheme", "jury", "--privacy", "1"), "--set privacy=1"),
        (("--scheme", "jury", "--liars", "1"), "--set liars=5"),
        (("--plays-per-day", "1", "--events-per-day", "5"), "Give one of them"),
        (("--plays-per-day", "1"), "Give --players as well"),
        (("--visitors-per-day", "9", "--plays-per-day", "1"), "Give one of them"),
        (("--visitors-per-day", "0"), "visitors_per_day=0"),
        (("--visitors-per-day", "500", "--players", "20"), "cannot come from 20 devices"),
        (("--players", "9", "--plays-per-day", "0"), "plays_per_day"),
        (("--days", "-1"), "days"),
        (("--players", "0"), "n_players"),
        (("--liars", "-1"), "--liars"),
        (("--players", "1000", "--liars", "900"), "liars=900 is too many for 1,000 devices"),
        (("--epsilon", ".6"), "lets every option pass"),
        (("--epsilon", "1e-7", "--privacy", "1"), "a million million answers"),
        (("--means", "1.2,.4"), "must be in [0, 1]"),
        (("--means", "-.1,.4"), "must be in [0, 1]"),
    ],
)
def test_bad_input_is_told_in_one_line_with_what_would_work(devote, flags, words):
    ran = devote(*FLEET, *flags)
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1


def examples():
    lines = [line.strip() for line in help_of(COMMANDS["plan"]).splitlines()]
    return [line.removeprefix("devote ") for line in lines if line.startswith("devote plan")]


def test_the_help_has_examples_for_visitors_for_fleets_and_for_single_schemes():
    assert len(examples()) >= 6
    for flag in ("--visitors-per-day", "--players", "--liars", "--scheme"):
        assert any(flag in line for line in examples())


@pytest.mark.parametrize("line", examples())
def test_every_example_of_the_help_runs(devote, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = devote(*line.split(), "--trials", 2, "--seconds", 0.1, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)
