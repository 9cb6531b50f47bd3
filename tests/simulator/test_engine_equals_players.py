"""The compiled engine and ``Player`` objects make the very same run of the same uniforms.

Whole trials are compared: samples, ending, winners, costs, every player's first vote, and the
trace of all votes, eliminations and resets.
"""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator.settings import MEANS, PROBLEMS, both, small_setting

from devote.problems import Problem, Weights
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, run_players
from devote.simulator.run import Run
from devote.simulator.streams import NAMES, Streams, stream

SCHEMES = ("decentralized", "isolated", "pooled")
TOO_LONG = {("median_elimination", "isolated")}
"""Compared up to the horizon only."""


def assert_equal_runs(setting, **trial):
    engine, players = both(setting, **trial)
    assert engine == players
    return engine


@pytest.mark.parametrize("problem", PROBLEMS)
def test_ser3_by_the_engine_is_ser3_by_players(problem):
    run = assert_equal_runs(small_setting("ser3", "decentralized", PROBLEMS[problem]))
    assert run.trace


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_engine_equals_players_for_every_subroutine_and_scheme(algorithm, scheme):
    statuses = set()
    for problem in PROBLEMS.values():
        run = assert_equal_runs(small_setting(algorithm, scheme, problem), seed=1)
        statuses.add(run.status)
        if scheme == "decentralized":
            assert run.trace
    if (algorithm, scheme) not in TOO_LONG and algorithm != "ser4":
        assert statuses & {"agreed", "stalled"}


OTHERS = [name for name in ALGORITHMS if name not in ("ser3", "ser4")]


@pytest.mark.parametrize(
    "algorithm", ["ser3", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_engine_equals_players_through_stalls_and_conflicts(algorithm):
    """Near-equal arms: too few players to agree stall (erratum 5), many contradict (erratum 4)."""
    close = Problem("close", (0.7, 0.7, 0.6, 0.1))
    seen = Counter()
    for trial in range(6):
        for n_players in (4, 20):
            setting = small_setting(algorithm, "decentralized", close, n_players=n_players)
            run = assert_equal_runs(setting, trial=trial)
            seen[run.status] += 1
            seen["conflicts"] += run.conflicts
    if algorithm == "ser3":
        assert seen["stalled"]
        assert seen["agreed"]
        assert seen["conflicts"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_resets_of_ser4_happen_at_the_same_pulls(scheme):
    for trial in range(3):
        setting = small_setting("ser4", scheme, PROBLEMS["switches"])
        run = assert_equal_runs(setting, trial=trial)
        assert run.resets > 0
        if scheme == "decentralized":
            resets = [event for event in run.trace if event.kind == "reset"]
            assert len(resets) == run.resets
            assert max(event.term for event in run.trace) == run.resets


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "radius"), [("ser3", "active"), ("ser4", "active")])
def test_options_reach_both(algorithm, radius):
    for problem in PROBLEMS.values():
        setting = small_setting(algorithm, "decentralized", problem, options={"radius": radius})
        assert_equal_runs(setting)


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=6),
    weights=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    votes=st.integers(1, 12),
    epsilon=st.sampled_from([0.2, 0.6, 0.9]),
    seed=st.integers(0, 2**64),
)
@settings(max_examples=settings.default.max_examples)
def test_engine_equals_players_in_any_small_setting(means, weights, votes, epsilon, seed):
    scheme = {"quorum": min(votes, len(weights))}
    spec = ExperimentSpec(arms=len(means), epsilon=epsilon, scheme=scheme)
    problem = Problem("any", means, activity=Weights(weights))
    assert_equal_runs(Scenario(spec, problem, len(weights), 1_500), seed=seed, trial=2)


@pytest.mark.parametrize("cuts", [[1] * 500, [7, 100, 1, 392], [500]])
def test_a_run_does_not_depend_on_how_its_uniforms_are_cut_into_blocks(cuts):
    generator = random.Random(5)
    rows = [(generator.random(), generator.random(), generator.random()) for _ in range(500)]
    setting = small_setting("ser3", "decentralized", PROBLEMS["plain"])
    run = Run(Scenario(setting.spec, setting.problem, 8, 500), tracing=True)
    columns = np.array(rows).T.copy()
    begin = 0
    for size in cuts:
        run.feed(*(column[begin : begin + size] for column in columns))
        begin += size
    players = run_players(setting.spec, setting.problem, 8, horizon=500, uniforms=rows, trace=True)
    assert run.outcome() == players


def test_a_trace_longer_than_its_buffer_is_kept_whole(monkeypatch):
    monkeypatch.setattr("devote.simulator.run.TRACE_ROWS", 1)
    setting = small_setting("ser3", "decentralized", PROBLEMS["plain"])
    run = assert_equal_runs(setting)
    assert len(run.trace) > 1


def test_streams_are_those_of_plain_python_however_they_are_drawn():
    quick = Streams(NAMES)
    for trial in (0, 3, 10**40):
        quick.start(11, trial)
        slow = [stream(11, trial, name) for name in NAMES]
        for size in (1, 0, 310, 1, 2, 2_000):
            expected = [[one.random() for _ in range(size)] for one in slow]
            assert [block.tolist() for block in quick.random(size)] == expected
    assert stream(11, 3, "wake").random() != stream(11, 4, "wake").random()


def test_a_horizon_ends_a_run_at_that_very_pull():
    setting = small_setting("ser3", "decentralized", Problem("plain", MEANS))
    for horizon in (1, 17):
        cut = Scenario(setting.spec, setting.problem, 8, horizon)
        run = assert_equal_runs(cut)
        assert (run.samples_until_all_know, run.status) == (horizon, "unfinished")
