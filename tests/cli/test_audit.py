"""``devote audit``: tables, JSON, and refusals that say how to go on."""

import pytest

EASY = ("--means", ".9,.1")


def test_the_worst_case_is_told_row_by_row_and_refusals_with_their_reason(devote):
    asked = ("audit", "correctness", "--worst-case", "--players", "28,32", "--precision", ".1")
    rows = devote(*asked, "--json").json["rows"]
    names = [row["scheme"] if "refused" in row else row["spec"]["scheme"]["name"] for row in rows]
    assert list(zip(names, (row["n_players"] for row in rows), strict=True)) == [
        *(("decentralized", 28), ("decentralized", 32), ("jury", 28), ("jury", 32)),
    ]
    assert "29 players" in rows[2]["refused"]
    assert rows[1]["failure"]["value"] > 0.5 > 0.2 > rows[3]["failure"]["value"]
    words = devote(*asked).words
    assert "jury 28 - - -" in words
    assert "jury N=28: " in words


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("--means .9,.1 --precision 1e-6", "--yes"),
        ("--scheme jury --players 20", "at least 29 players"),
        ("--players many", "32,64,128"),
        ("--scheme jury --horizon 2000", "Nobody had sent a message about an arm"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_line(devote, asked, remedy):
    ran = devote("audit", "correctness", *asked.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert remedy in ran.err


def test_privacy_has_a_row_for_each_question_with_own_and_all_messages(devote):
    asked = ("audit", "privacy", "--players", 32, "--runs", 200)
    leaks = devote(*asked, "--json").json["leaks"]
    assert [(leak["question"], leak["others_known"]) for leak in leaks] == [
        (question, others)
        for question in ("best arm", "group", "activity")
        for others in (False, True)
    ]
    count = leaks[4]["count"]
    assert 0.0 < count["median_relative_error"] < count["without_messages"]
    assert leaks[0]["claimed_cap"] < leaks[0]["baseline"] < leaks[0]["success"]["value"]
    words = devote(*asked).words
    assert "group: problem groups (in place of yours: its players form no groups)" in words
    assert "activity: problem 1, half of the players busy" in words
    assert "median error" in words


SPEC = """
name = "banner"
arms = ["rose", "green"]
[scheme]
name = "survey"
privacy = 1.0
"""


@pytest.mark.slow
def test_the_devices_that_ship_are_held_to_the_promise_of_a_specification_file(devote, tmp_path):
    file = tmp_path / "banner.toml"
    file.write_text(SPEC)
    asked = ("audit", "privacy", file, "--runs", 90)
    printed = devote(*asked, "--json").json
    assert printed["spec"]["name"] == "banner"
    assert (
        list(printed["devices"]) == ["Python device", "Browser client"][: len(printed["devices"])]
    )
    for rows in printed["devices"].values():
        assert rows[0]["secret"] == "does it click"
        assert rows[0]["worlds"] == ["clicks at once", "never clicks"]
        assert rows[0]["proved_cap"] == pytest.approx(0.7311, abs=1e-4)
        assert [row["promised"] for row in rows] == [1.0] * 4 + [2.0]
        assert {row["verdict"] for row in rows} == {"consistent with the cap"}


def test_a_private_jury_is_audited_without_a_browser_and_says_so(devote):
    """The verdict is a sentence; a device that keeps its promise breaks it 1 time in 1,000."""
    scheme = ("--scheme", "jury", "--set", "privacy=1", "--set", "vote_after=20", "--eta", ".1")
    asked = ("audit", "privacy", *scheme, "--set", "seats=300", *EASY, "--runs", 90)
    ran = devote(*asked)
    assert "No interval lies above its cap: consistent with the promise." in ran.out
    assert "Not audited: the browser client" in ran.out
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


RESETS = (*EASY, "--algorithm", "ser4", "--option", "phi=1e-3", "--eta", ".5", "--players", 16)


def test_ser4_is_audited_term_by_term_to_a_horizon(devote):
    """Ten resets a run on average: one or fewer, over 100 runs, has probability below 1e-100."""
    asked = ("audit", "correctness", *RESETS, "--horizon", 10_000, "--precision", ".1")
    [row] = devote(*asked, "--json").json["rows"]
    assert row["mean_resets"] > 1.0
    assert row["terms"]["runs"] > row["failure"]["runs"]
    assert row["terms"]["count"] == 0
    assert "resets a run; of" in devote(*asked).words
    assert "Give a horizon" in devote("audit", "privacy", *RESETS, "--runs", 200).err


def test_a_figure_of_a_kind_unknown_is_refused_before_any_run(devote, tmp_path):
    ran = devote("audit", "privacy", "--figure", tmp_path / "eta.gif")
    assert (ran.code, ".svg" in ran.err) == (2, True)
