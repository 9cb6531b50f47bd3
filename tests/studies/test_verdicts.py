"""Verdicts follow from numbers: the same code says yes, no and "depends"."""

from types import SimpleNamespace

import numpy as np
import pytest

from devote.studies import Settings
from devote.studies import claim as claims
from devote.studies.claim import CHANCE, RADIUS, Case, Range, depends_on, judged, verdict
from devote.studies.estimates import Estimate
from devote.studies.report import outcome_text, tally
from devote.studies.section_5 import problem_2_claims
from devote.studies.study import Table

ABOVE_ONE = Range(low=1.0)
YES = Estimate(1.3, 1.2, 1.4, "N = 32")
NO = Estimate(0.8, 0.7, 0.9, "N = 64")
UNCLEAR = Estimate(1.0, 0.9, 1.1, "N = 128")


def case(*estimates):
    return Case("x", estimates, ABOVE_ONE)


@pytest.fixture
def claim(monkeypatch):
    """Judges cases of a sentence of this file."""
    texts = {"quote": "x outperforms y", "where": "nowhere", "measured": "y / x"}
    texts |= {"asked": "above 1", "across": "subroutine", "along": "number of players"}
    monkeypatch.setattr(claims, "sentences", lambda: {"toy": texts})
    return lambda *cases: judged("toy", cases)


def test_a_sentence_holds_if_every_interval_lies_within_what_it_asks():
    assert verdict([case(YES, YES), case(YES)]) == "holds"


def test_a_sentence_does_not_hold_if_every_interval_lies_outside():
    assert verdict([case(NO, NO), case(NO)]) == "does not hold"


@pytest.mark.parametrize(
    ("cases", "on"),
    [
        ([case(YES), case(NO)], ("radius form",)),
        ([case(YES, NO), case(YES, NO)], ("number of players",)),
        ([case(YES, NO), case(NO)], ("radius form", "number of players")),
        ([case(UNCLEAR)], (CHANCE,)),
        ([case(YES), case(UNCLEAR)], (CHANCE,)),
        ([case(YES), case(NO), case(UNCLEAR)], ("radius form",)),
    ],
)
def test_else_it_depends_and_the_code_says_on_what(cases, on):
    assert verdict(cases) == "depends"
    assert depends_on(cases, across="radius form", along="number of players") == on


def test_a_sentence_that_rests_on_the_radius_of_ser3_depends_on_it(claim):
    """The paper prints no radius: neither form may settle a sentence on which they disagree."""
    row = claim(
        Case("SER3", (YES,), ABOVE_ONE, "active"),
        Case("SER3", (NO,), ABOVE_ONE, "union"),
    )
    assert row["verdict"] == "depends"
    assert row["depends_on"] == [RADIUS]
    assert row["by_form"] == {"active": "holds", "union": "does not hold"}


def test_another_form_of_the_radius_is_no_other_subroutine(claim):
    row = claim(
        Case("SER3 active", (YES,), ABOVE_ONE, "active"),
        Case("SER3 union", (NO,), ABOVE_ONE, "union"),
        Case("UGapEc", (YES,), ABOVE_ONE),
    )
    assert row["depends_on"] == [RADIUS]
    assert row["by_form"] == {"active": "holds", "union": "depends"}
    both = claim(
        Case("SER3 active", (NO,), ABOVE_ONE, "active"),
        Case("SER3 union", (NO,), ABOVE_ONE, "union"),
        Case("UGapEc", (YES,), ABOVE_ONE),
    )
    assert both["depends_on"] == ["subroutine"]


def test_the_verdict_is_that_of_the_authors_reading(claim):
    row = claim(
        Case("SER3", (YES,), ABOVE_ONE, "active"),
        Case("SER3", (YES,), ABOVE_ONE, "union"),
        Case("SER3", (NO,), ABOVE_ONE, "active", "like for like"),
    )
    assert row["verdict"] == "holds"
    assert row["depends_on"] == []
    assert row["otherwise"] == {"like for like": "does not hold"}


def test_the_tally_is_of_the_papers_sentences_alone(claim):
    ours = claim(case(YES)) | {"uncounted": "this project's own theorem"}
    assert tally([claim(case(NO)), ours])["holds"] == 0
    assert tally([claim(case(NO)), ours])["does not hold"] == 1


def test_nothing_is_said_about_what_was_not_measured(claim):
    assert verdict([]) == verdict([case()]) == verdict([case(YES), case()]) == "not measured"
    assert claim()["depends_on"] == []


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.9, 1.1, True), (0.95, 1.0, True), (1.2, 1.3, False), (1, 1.2, None)],
)
def test_a_range_is_judged_by_the_whole_interval(low, high, outcome):
    assert Range(0.9, 1.1).judge(Estimate((low + high) / 2, low, high)) is outcome


@pytest.mark.parametrize(
    ("estimates", "word"),
    [((YES,), "yes"), ((NO,), "no"), ((YES, NO), "mixed"), ((YES, UNCLEAR), "unclear")],
)
def test_a_case_is_summed_up_in_a_word(estimates, word):
    assert outcome_text(case(*estimates).to_dict()) == word


def test_rounding_cannot_break_an_exact_claim():
    assert Range(28, 28).judge(Estimate(28.0 + 1e-14, 28.0, 28.0 + 1e-14)) is True


class Flat(Table):
    """Samples that grow with the number of players, and no others."""

    def __getitem__(self, scenario):
        votes = np.zeros((2, scenario.n_players))
        return SimpleNamespace(problem=scenario.problem, first_vote=votes)

    def samples(self, variant, scheme, problem, n_players):
        return np.array([1.0, 1.1]) * n_players


def test_problem_2_is_judged_from_64_players_on():
    """The paper: "between 32 to 64 players", "with 64 this issue disappears"."""
    table = Flat([], Settings(players=(32, 64, 128, 256), trials=2))
    rows = {row["name"]: row for row in problem_2_claims(table)}
    places = {
        case["reading"]: [estimate["at"] for estimate in case["estimates"]]
        for case in rows["decentralized-uneven"]["cases"]
    }
    assert places[""] == ["N = 64", "N = 128", "N = 256"]
    assert places["with 32 players too"] == ["N = 32", *places[""]]
    assert rows["linear-from-64"]["verdict"] == "holds"
