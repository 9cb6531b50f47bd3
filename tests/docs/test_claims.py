"""What is committed of the paper's reproduction: its numbers, its pages, its figures."""

import json

from scripts.pages import pages
from tests.docs.markdown import DOCS, text_of

from devote.studies import studies
from devote.studies.claim import RADIUS
from devote.studies.sweeps import EtaSweep, draw_eta

DOCUMENT = json.loads((DOCS / "claims.json").read_text())
CLAIMS = {claim["name"]: claim for claim in DOCUMENT["claims"]}


def test_it_is_the_whole_range_of_the_paper_drawn_in_the_form_with_which_more_sentences_hold():
    assert DOCUMENT["n_players"] == [32, 64, 128, 256, 512, 1024]
    assert DOCUMENT["missing_n_players"] == []
    held = DOCUMENT["hold_by_form"]
    assert next(iter(held)) == "active"
    assert held["active"] > held["union"]


def test_sentences_are_counted_and_judged_as_their_authors_meant_them():
    out = {name for name, claim in CLAIMS.items() if claim["uncounted"]}
    assert out == {"mean-gap-positive", "mean-gap-switch", "theorem-1-failure-of-a-jury"}
    assert sum(DOCUMENT["verdicts"].values()) == len(CLAIMS) - len(out)
    for name in ("0-privacy-messages", "decentralized-uneven"):  # which can be read otherwise
        assert CLAIMS[name]["verdict"] == "holds"
        assert "holds" not in CLAIMS[name]["otherwise"].values()
    row = CLAIMS["best-arm-of-the-frequent"]  # section 6: they win where they are 28 or more
    assert row["depends_on"] == ["number of frequent players"]
    for case in row["cases"]:
        assert [e["outcome"] for e in case["estimates"]] == [False] * 3 + [True] * 4


def test_a_sentence_on_which_the_forms_of_the_radius_disagree_depends():
    """The paper prints no radius: a verdict with one form alone would judge our choice of it."""
    for claim in CLAIMS.values():
        if len(set(claim["by_form"].values())) > 1:
            assert claim["verdict"] == "depends", claim["name"]
            assert claim["depends_on"][0] == RADIUS


def test_the_committed_pages_and_figures_are_what_the_commands_make(tmp_path):
    for path, text in pages().items():
        assert text_of(path) == text, f"{path.name}: run make claims"
    names = {path.stem for path in (DOCS / "figures").glob("*.svg")}
    assert names >= studies().keys() | {"privacy"}
    names -= {"five-schemes", "five-schemes-narrow"}  # in the page's colours, as only SVG can be
    assert names <= {path.stem for path in (DOCS / "figures").glob("*.png")}
    assert not list((DOCS / "figures").glob("*.pdf"))
    swept = EtaSweep.load(DOCS / "figures/privacy.json")
    [drawn, *_] = draw_eta(swept, tmp_path / "privacy.svg")
    assert drawn.read_bytes() == (DOCS / "figures/privacy.svg").read_bytes()
