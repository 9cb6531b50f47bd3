"""What docs/claims.md says of itself, from the numbers in docs/claims.json."""

import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = json.loads((DOCS / "claims.json").read_text())
CLAIMS = {claim["name"]: claim for claim in DOCUMENT["claims"]}


def test_it_is_the_whole_range_of_the_paper():
    assert DOCUMENT["n_players"] == [32, 64, 128, 256, 512, 1024]
    assert DOCUMENT["missing_n_players"] == []


def test_the_form_judged_first_is_the_one_with_which_more_sentences_hold():
    held = DOCUMENT["hold_by_form"]
    assert next(iter(held)) == "active"
    assert held["active"] > held["union"]


def test_the_tally_leaves_out_what_is_not_the_papers_to_be_judged():
    out = {name for name, claim in CLAIMS.items() if claim["uncounted"]}
    assert out == {"mean-gap-positive", "mean-gap-switch", "theorem-1-failure-of-a-jury"}
    assert sum(DOCUMENT["verdicts"].values()) == len(CLAIMS) - len(out)


def test_no_interval_lies_where_a_count_or_a_ratio_cannot():
    """Only the gain per doubling is a change, which may be negative."""
    for name, claim in CLAIMS.items():
        if name != "1-privacy-ugapec-gain-grows":
            for case in claim["cases"]:
                assert all(e["interval"][0] >= 0 for e in case["estimates"]), name


def test_sentences_are_judged_as_their_authors_meant_them():
    for name, reading in (
        ("0-privacy-messages", "a broadcast counted as one message"),
        ("decentralized-uneven", "with 32 players too"),
    ):
        assert CLAIMS[name]["verdict"] == "holds"
        assert CLAIMS[name]["otherwise"][reading] != "holds"


def test_section_6_the_frequent_players_win_where_they_are_28_or_more():
    row = CLAIMS["best-arm-of-the-frequent"]
    assert row["depends_on"] == ["number of frequent players"]
    for case in row["cases"]:
        assert [e["outcome"] for e in case["estimates"]] == [False] * 3 + [True] * 4


def test_every_figure_is_there_in_three_formats():
    names = {path.stem for path in (DOCS / "figures").glob("*.svg")}
    names -= {"five-schemes", "five-schemes-narrow"}  # in the page's colours, as only SVG can be
    for suffix in ("pdf", "png"):
        assert names <= {path.stem for path in (DOCS / "figures").glob(f"*.{suffix}")}
