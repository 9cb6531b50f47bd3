"""Two results compared trial by trial."""

import dataclasses

import numpy as np
import pytest
import scipy

from devote import compare
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import ResultError, simulate

SPEC = ExperimentSpec(arms=3, epsilon=0.5, scheme={"quorum": 3})
TOY = Problem("toy", (0.9, 0.6, 0.1))


@pytest.fixture(scope="module")
def pair():
    return [
        simulate(SPEC.with_(options={"radius": radius}), TOY, 8, trials=12, seed=4)
        for radius in ("union", "active")
    ]


@pytest.mark.parametrize("column", ["samples", "samples_until_all_know", "suboptimal_plays"])
def test_the_paired_t_test_is_scipys(pair, column):
    found = compare(*pair, column)
    one, other = (getattr(result, column) for result in pair)
    expected = scipy.stats.ttest_rel(one, other)
    assert found.difference == pytest.approx(np.mean(one) - np.mean(other))
    assert found.p_value == pytest.approx(expected.pvalue)
    between = expected.confidence_interval()
    assert (found.low, found.high) == pytest.approx((between.low, between.high))
    assert found.test == "paired t test"
    text = repr(found)
    assert all(word in text for word in ("common random numbers", "95 % interval", "paired t test"))
    assert max(map(len, text.splitlines())) <= 100


def judged(result, right):
    return dataclasses.replace(result, epsilon_optimal=np.array(right))


def test_right_and_wrong_answers_are_compared_by_the_exact_mcnemar_test(pair):
    one = judged(pair[0], [True] * 10 + [False] * 2)
    other = judged(pair[1], [False] * 9 + [True] * 3)
    found = compare(one, other, "epsilon_optimal")
    assert found.difference == pytest.approx(7 / 12)
    assert found.p_value == pytest.approx(scipy.stats.binomtest(9, 11).pvalue)
    assert found.low < 7 / 12 < found.high
    assert "exact McNemar" in repr(found)
    same = compare(one, one, "epsilon_optimal")
    assert (same.difference, same.p_value) == (0.0, 1.0)
    assert same.low < 0.0 < same.high


def test_a_result_against_itself_has_no_difference(pair):
    found = compare(pair[0], pair[0])
    assert (found.difference, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_engines_that_draw_other_numbers_are_not_compared(pair):
    result = pair[0]
    in_passes = dataclasses.replace(
        result, scenario=dataclasses.replace(result.scenario, engine="passes")
    )
    assert compare(in_passes, in_passes).difference == 0.0
    with pytest.raises(ResultError, match=r"engines are event and passes: .*\nRun both with"):
        compare(result, in_passes)


def test_pairs_go_as_far_as_both_results(pair):
    fewer = simulate(SPEC, TOY, 8, trials=5, seed=4)
    assert compare(fewer, pair[1]).trials == 5


def test_what_has_no_decision_is_left_out_and_what_was_cut_off_is_said(pair):
    cut = simulate(
        SPEC, TOY, 8, trials=12, seed=4, horizon=int(np.median(pair[0].samples_until_all_know))
    )
    assert 0 < cut.status.count("unfinished") < 12
    found = compare(cut, pair[1], "samples")
    assert found.left_out == int((cut.samples < 0).sum())
    assert compare(cut, pair[1], "samples_until_all_know").unfinished == cut.status.count(
        "unfinished"
    )
    assert "that the horizon cut off" in repr(compare(cut, pair[1], "samples_until_all_know"))


@pytest.mark.parametrize(
    ("changes", "column", "message"),
    [
        ({"seed": 5}, "samples", r"seeds are 5 and 4: .*\nRun both with the same seed"),
        ({"trials": 1}, "samples", r"1 pairs of trials.*\nRun at least 2"),
        ({}, "winners", r"'winners' cannot be compared\.\nUse one of: samples"),
    ],
)
def test_what_cannot_be_compared_is_said(pair, changes, column, message):
    other = simulate(SPEC, TOY, 8, **{"trials": 3, "seed": 4, **changes})
    with pytest.raises(ResultError, match=message):
        compare(other, pair[1], column)
