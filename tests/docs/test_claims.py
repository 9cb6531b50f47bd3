"""What docs/claims.md says of itself, from the numbers in docs/claims.json."""

import json
from pathlib import Path

from scripts.pages import pages

from devote.studies import studies
from devote.studies.claim import RADIUS
from devote.studies.sweeps import EtaSweep, draw_eta

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = json.loads((DOCS / "claims.json").read_text())
CLAIMS = {claim["name"]: claim for claim in DOCUMENT["claims"]}


def test_it_is_the_whole_range_of_the_paper():
    assert DOCUMENT["n_players"] == [32, 64, 128, 256, 512, 1024]
    assert DOCUMENT["missing_n_players"] == []


def test_the_form_that_is_drawn_is_the_one_with_which_more_sentences_hold():
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


def test_every_figure_is_there_as_svg_and_png_and_none_as_pdf():
    names = {path.stem for path in (DOCS / "figures").glob("*.svg")}
    assert names >= studies().keys() | {"privacy"}
    names -= {"five-schemes", "five-schemes-narrow"}  # in the page's colours, as only SVG can be
    assert names <= {path.stem for path in (DOCS / "figures").glob("*.png")}
    assert not list((DOCS / "figures").glob("*.pdf"))


def test_the_committed_pages_are_what_the_command_makes_of_the_committed_numbers():
    assert "`make claims`" in (DOCS / "claims.md").read_text(encoding="utf-8")
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make claims"


def test_what_eta_buys_is_drawn_from_the_numbers_beside_it(tmp_path):
    swept = EtaSweep.load(DOCS / "figures" / "privacy.json")
    [drawn, *_] = draw_eta(swept, tmp_path / "privacy.svg")
    assert drawn.read_bytes() == (DOCS / "figures" / "privacy.svg").read_bytes()


def test_a_sentence_on_which_the_forms_of_the_radius_disagree_depends():
    """The paper prints no radius: a verdict with one form alone would judge our choice of it."""
    for claim in CLAIMS.values():
        if len(set(claim["by_form"].values())) > 1:
            assert claim["verdict"] == "depends", claim["name"]
            assert claim["depends_on"][0] == RADIUS
    for name in ("1-privacy-drift", "1-privacy-ugapec-better"):
        assert set(CLAIMS[name]["by_form"].values()) == {"holds", "does not hold"}


def test_definition_3_is_judged_by_what_can_be_certified_too():
    """Property 1 alone certifies no more than 1 - eta; what is proved of SER3 certifies more."""
    claim = CLAIMS["theorem-1-privacy"]
    assert claim["verdict"] == "does not hold"
    assert claim["otherwise"] == {
        "what Property 1 certifies": "holds",
        "what the proof of SER3 certifies": "does not hold",
    }
