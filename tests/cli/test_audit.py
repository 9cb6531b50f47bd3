"""``devote audit``: tables, JSON, and refusals that say how to go on."""

import json

import pytest


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_the_worst_case_is_told_row_by_row_and_refusals_with_their_reason(devote):
    ran = devote(
        "audit", "correctness", "--worst-case", "--players", "28,32", "--precision", ".1", "--json"
    )
    rows = told(ran)["rows"]
    names = [row["scheme"] if "refused" in row else row["spec"]["scheme"]["name"] for row in rows]
    assert list(zip(names, (row["n_players"] for row in rows), strict=True)) == [
        ("decentralized", 28),
        ("decentralized", 32),
        ("jury", 28),
        ("jury", 32),
    ]
    assert "29 players" in rows[2]["refused"]
    assert rows[1]["failure"]["value"] > 0.5 > 0.2 > rows[3]["failure"]["value"]


def test_the_table_has_claimed_and_proved_side_by_side(devote):
    ran = devote("audit", "correctness", "--means", ".9,.1", "--players", 32, "--precision", ".1")
    assert ran.code == 0
    for word in ("claimed", "proved", "stalled", "lone"):
        assert word in ran.out


def test_a_precision_of_days_a_jury_too_large_and_a_list_that_is_none_are_refused(devote):
    days = devote("audit", "correctness", "--means", ".9,.1", "--precision", "1e-6")
    assert (days.code, days.out) == (2, "")
    assert "--yes" in days.err
    large = devote("audit", "correctness", "--scheme", "jury", "--players", 20)
    assert large.code == 2
    assert "at least 29 players" in large.err
    words = devote("audit", "correctness", "--players", "many")
    assert words.code == 2
    assert "32,64,128" in words.err


def test_a_jury_that_is_not_complete_at_the_horizon_is_refused_in_one_line(devote):
    ran = devote("audit", "correctness", "--scheme", "jury", "--horizon", 2_000, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "Nobody had sent a message about an arm" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_privacy_tells_the_problem_of_each_question_and_the_error_of_a_count(devote):
    ran = devote("audit", "privacy", "--players", 32, "--runs", 200)
    assert ran.code == 0, ran.err
    assert "group: problem groups (in place of yours: its players form no groups)" in ran.out
    assert "activity: problem 1, half of the players busy" in ran.out
    assert "median error" in ran.out


def test_privacy_has_a_row_for_each_question_with_own_and_all_messages(devote):
    ran = devote("audit", "privacy", "--players", 32, "--runs", 200, "--json")
    leaks = told(ran)["leaks"]
    assert [(leak["question"], leak["others_known"]) for leak in leaks] == [
        (question, others)
        for question in ("best arm", "group", "activity")
        for others in (False, True)
    ]
    count = leaks[4]["count"]
    assert 0.0 < count["median_relative_error"] < count["without_messages"]
    assert leaks[0]["claimed_cap"] < leaks[0]["baseline"] < leaks[0]["success"]["value"]


PRIVATE = ("audit", "privacy", "--scheme", "survey", "--set", "privacy=1", "--means", ".9,.1")


def test_a_private_scheme_is_held_to_its_promise_secret_by_secret(devote):
    rows = told(devote(*PRIVATE, "--runs", 150, "--json"))["rows"]
    assert rows[0]["secret"] == "does it click"
    assert rows[0]["worlds"] == ["clicks at once", "never clicks"]
    assert rows[0]["proved_cap"] == pytest.approx(0.7311, abs=1e-4)
    assert {row["promised"] for row in rows} == {1.0}
    assert not any(row["is_broken"] for row in rows)


def test_the_table_of_a_private_scheme_is_read_in_80_columns(devote):
    ran = devote(*PRIVATE, "--runs", 150)
    assert ran.code == 0, ran.err
    assert "nobody names the world with more than 0.731" in ran.out
    assert "e at least" in ran.out
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


RESETS = ("--algorithm", "ser4", "--option", "phi=1e-3", "--eta", ".5", "--players", 16)


def test_ser4_is_audited_term_by_term(devote):
    """Ten resets a run on average: one or fewer, over 100 runs, has probability below 1e-100."""
    asked = ("audit", "correctness", "--means", ".9,.1", *RESETS, "--horizon", 10_000)
    [row] = told(devote(*asked, "--precision", ".1", "--json"))["rows"]
    assert row["mean_resets"] > 1.0
    assert row["terms"]["runs"] > row["failure"]["runs"]
    assert row["terms"]["count"] == 0
    assert "resets a run; of" in devote(*asked, "--precision", ".1").words


def test_what_ser4_gives_away_is_audited_to_a_horizon(devote):
    asked = ("audit", "privacy", "--means", ".9,.1", *RESETS, "--runs", 200)
    assert "Give a horizon" in devote(*asked).err
    leaks = told(devote(*asked, "--horizon", 2_000, "--json"))["leaks"]
    assert leaks[0]["success"]["value"] > leaks[0]["claimed_cap"]


def test_a_figure_of_a_kind_unknown_is_refused_before_any_run(devote, tmp_path):
    ran = devote("audit", "privacy", "--figure", tmp_path / "eta.gif")
    assert ran.code == 2
    assert ".svg" in ran.err
