import json

import pytest

pytestmark = pytest.mark.usefixtures("shipped_schemes")

# Enough time for both trials however busy the machine is.
FLEET = ("plan", "--arms", 3, "--epsilon", ".3", "--trials", 2, "--seconds", 60)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_all_schemes_are_compared_and_one_is_named(devote):
    plan = told(devote(*FLEET, "--players", 5_000, "--privacy", 1, "--json"))
    assert (plan["n_players"], plan["privacy"], plan["use"]) == (5_000, 1.0, "survey")
    rows = {row["scheme"]: row for row in plan["schemes"]}
    assert list(rows) == ["decentralized", "jury", "survey"]
    survey = rows["survey"]
    assert survey["can"]
    assert survey["proved_error"] <= 0.05
    assert survey["proved_privacy"] == 1.0
    assert survey["samples"] == pytest.approx(5_000 * survey["plays_per_device"])
    assert survey["days"] == pytest.approx(survey["plays_per_device"] / 10)
    assert survey["liars_to_turn"] > 10
    assert rows["decentralized"]["cannot"][:2] == ["no error is proved", "no privacy is proved"]
    assert plan["relax"] == []


def test_the_table_says_what_to_use_why_and_how_to_write_it(devote):
    words = devote(*FLEET, "--players", 100, "--privacy", "none").words
    assert "Use jury." in words
    assert "no other scheme does" in words
    assert 'scheme = { name = "jury", seats = 28 }' in words
    assert "the hardest: all 3 pay the same" in words
    assert "it needs about" in words


def test_where_none_can_it_says_so_and_what_to_relax(devote):
    asked = ("plan", "--means", ".05,.04,.03,.03", "--epsilon", ".005", "--players", 1000)
    words = devote(*asked).words
    assert "No scheme can do this. What would do:" in words
    assert "devices in place of 1,000" in words
    plan = told(devote(*asked, "--json"))
    assert plan["use"] is None
    assert plan["why"].startswith("No scheme can do this: decentralized: no error is proved")
    by = {row["asked"]: row for row in plan["relax"]}
    assert by["n_players"]["scheme"] == "survey"
    assert 900_000 < by["n_players"]["value"] < 1_100_000


def test_events_of_all_devices_may_be_given_instead(devote):
    one, other = (
        told(devote(*FLEET, "--players", 3000, *flags, "--json"))
        for flags in (("--plays-per-day", 2), ("--events-per-day", 6_000))
    )
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
        (("--plays-per-day", "1", "--events-per-day", "5"), "Give one of them"),
        (("--plays-per-day", "0"), "plays_per_day"),
        (("--days", "-1"), "days"),
        (("--players", "0"), "n_players"),
    ],
)
def test_bad_input_is_told_in_one_line(devote, flags, words):
    ran = devote(*FLEET, *flags)
    assert ran.code == 2
    assert words in ran.err
