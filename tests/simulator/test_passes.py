"""Passes make the runs of the event loop: exactly if that is fed with the same clocks."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.merged_clocks import merged_run, numbers_of
from tests.simulator.settings import MEANS, PROBLEMS, small_setting

from devote.problems import Problem, Split, Weights, Zipf, get_problem
from devote.protocol import ExperimentSpec, SpecError
from devote.rules import SUBROUTINES, get_algorithm
from devote.simulator import (
    NeverEnds,
    Scenario,
    SweepError,
    load_results,
    numbers,
    run_sweep,
    run_trial,
    simulate,
)
from devote.simulator.errors import RuleFault
from devote.simulator.outcomes import block_of
from devote.simulator.passes_run import Passes
from devote.simulator.scenario import PASSES_PAY, PASSES_PAY_ALONE
from devote.studies.reproduce import with_engine

CHANGING = {"drift", "switches", "replay"}
STILL = [name for name in PROBLEMS if name not in CHANGING]
CLOSE = Problem("close", (0.7, 0.7, 0.6, 0.1))
SCHEMES = ("decentralized", "isolated", "jury", "private jury")
JURY = {"name": "jury", "seats": 7, "seat_after": 5}
LONG = {"naive": 240, "successive_elimination": 400, "median_elimination": 2_800}
"""When private jurors of these subroutines pick; those of the others after 160 plays."""


def setting(algorithm, scheme, problem, n_players, votes=3):
    """A small setting of any scheme, in passes."""
    base = scheme if scheme == "isolated" else "decentralized"
    chosen = small_setting(algorithm, base, problem, n_players=n_players, votes=votes)
    if "jury" in scheme:
        private = {"privacy": 6.0, "vote_after": LONG.get(algorithm, 160)}
        given = JURY | (private if scheme == "private jury" else {})
        chosen = replace(chosen, spec=chosen.spec.with_(scheme=given, eta=0.2))
    return replace(chosen, engine="passes", horizon=None)


def both(scenario, trial, threads=1):
    """A trial in passes, and by the event loop that is fed with the same clocks."""
    found = Passes(scenario, threads).run(0, trial)
    expected = merged_run(scenario, trial=trial).end()
    return found, expected


def compare_exactly(scenario, trial, threads=1):
    """Run both ways; the outcome."""
    found, expected = both(scenario, trial, threads)
    [one], [other] = block_of(scenario, [found]), block_of(scenario, [expected])
    assert one == other, (scenario, trial)
    assert found.tally.tolist() == expected.tally.tolist()
    return one


def test_passes_are_the_run_of_the_merged_clocks():
    """To the last vote, on every problem that stands still, through stalls and conflicts."""
    seen = set()
    for name in STILL:
        for n_players in (8,) if name == "tied" else (8, 20):
            run = compare_exactly(setting("ser3", "decentralized", PROBLEMS[name], n_players), 1)
            seen.add(run.status)
    for trial in range(7, 12):
        for n_players in (4, 20):
            run = compare_exactly(setting("ser3", "decentralized", CLOSE, n_players), trial)
            seen |= {run.status, "conflict"} if run.conflicts else {run.status}
    assert seen == {"agreed", "stalled", "conflict"}


@pytest.mark.parametrize("scheme", ["jury", "private jury"])
def test_a_jury_in_passes_is_the_jury_of_the_merged_clocks(scheme):
    seen = Counter(
        compare_exactly(setting("ser3", scheme, PROBLEMS[name], n_players), trial).status
        for name in STILL
        for n_players in ((8,) if name == "tied" else (8, 20))
        for trial in (0, 1)
    )
    assert {"agreed", "stalled"} <= seen.keys()


def test_alone_in_passes_is_alone_with_the_merged_clocks():
    for name in STILL:
        compare_exactly(setting("ser3", "isolated", PROBLEMS[name], 8), 0)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("algorithm", [name for name in SUBROUTINES if name != "ser4"])
def test_every_subroutine_in_passes_is_that_of_the_merged_clocks(algorithm, scheme):
    """False alarms are impossible; one vote out of place is found for certain."""
    seen = Counter()
    for name in ("plain", "zipf", "beta", "groups", "equal"):
        for n_players in (8, 32):
            for trial in (0, 1):
                scenario = setting(algorithm, scheme, PROBLEMS[name], n_players)
                seen[compare_exactly(scenario, trial).status] += 1
    assert seen["agreed"] or scheme == "private jury"  # of seven seats, many stall


@pytest.mark.slow
@pytest.mark.parametrize("activity", [None, Split(), Zipf(1.1)])
@pytest.mark.parametrize(("n_players", "votes"), [(32, 8), (256, 64), (1024, 256), (4096, 64)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_players_in_passes_are_those_of_the_merged_clocks(scheme, n_players, votes, activity):
    problem = Problem("plain", MEANS)
    if activity is not None:
        problem = problem.with_activity(activity)
    scenario = setting("ser3", scheme, problem, n_players, votes)
    compare_exactly(scenario, 3, threads=2)


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=6),
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=12),
    votes=st.integers(1, 12),
    seed=st.integers(0, 2**64),
)
@settings(max_examples=settings.default.max_examples)
def test_in_any_small_setting(means, weights, votes, seed):
    scheme = {"quorum": min(votes, len(weights))}
    spec = ExperimentSpec(arms=len(means), epsilon=0.9, scheme=scheme)
    problem = Problem("any", means, activity=Weights(weights))
    scenario = Scenario(spec, problem, len(weights), None, "passes")
    compare_exactly(scenario, seed)


@pytest.mark.parametrize("width", [0.01, 1.0, 1000.0])
def test_neither_threads_nor_windows_nor_room_change_a_run(monkeypatch, width):
    scenario = setting("ser3", "decentralized", PROBLEMS["zipf"], 100, 20)
    expected = run_trial(scenario, seed=3, trial=0, threads=1)
    monkeypatch.setattr("devote.simulator.passes_run.ROWS_PER_THREAD", 7)
    assert run_trial(scenario, seed=3, trial=0, threads=5) == expected
    monkeypatch.setattr("devote.simulator.passes.FIRST_WIDTH", width)
    assert run_trial(scenario, seed=3, trial=0, threads=2) == expected
    monkeypatch.setattr("devote.simulator.passes_run.SPARE_MESSAGES", -200)
    assert run_trial(scenario, seed=3, trial=0, threads=1) == expected


@pytest.mark.slow
def test_the_mean_of_the_samples_is_that_of_the_event_loop():
    """With streams of their own: false alarm 1e-7; a shift of 1 % is found with .999."""
    scenario = setting("ser3", "decentralized", Problem("plain", MEANS), 256, 64)
    a, b = (
        run_sweep([replace(scenario, engine=engine)], trials=4_000, workers=1)[
            0
        ].samples_until_all_know
        for engine in ("passes", "event")
    )
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    quantiles = scipy.stats.norm.isf(1e-7 / 2) + scipy.stats.norm.isf(1e-3)
    assert quantiles * error <= 0.01 * b.mean()
    assert abs(a.mean() - b.mean()) <= scipy.stats.norm.isf(1e-7 / 2) * error


@pytest.mark.filterwarnings("ignore:overflow")
def test_uniforms_are_uniform_and_gaps_exponential_and_no_two_words_alike():
    """Each alarm is false with probability 1e-7; 30,000 numbers tell .03 of probability mass."""
    keys = [numbers.player_key(np.uint64(5), n) for n in range(300)]
    enough = 5.33 / math.sqrt(30_000)
    words = (numbers.CHOOSE, numbers.PAY, numbers.NOISE, numbers.GAP)
    drawn = [np.concatenate([numbers_of(key, 0, 100, word) for key in keys]) for word in words]
    for i, values in enumerate(drawn):
        assert scipy.stats.kstest(values, "uniform").pvalue > 1e-7
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < enough
        for others in drawn[:i]:
            assert abs(np.corrcoef(values, others)[0, 1]) < enough
    gaps = [numbers.gap(key, i, 2.0) / 2.0 for key in keys for i in range(100)]
    assert scipy.stats.kstest(gaps, "expon").pvalue > 1e-7
    one_by_one = [numbers.uniform(keys[7], i, numbers.PAY) for i in range(100)]
    assert one_by_one == drawn[1][700:800].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trial_that_goes_on_for_ever_is_ended_clearly(monkeypatch, threads):
    monkeypatch.setattr("devote.simulator.scenario.PATIENCE", 1.0)
    monkeypatch.setattr("devote.simulator.passes_run.ROWS_PER_THREAD", 2)
    spec = ExperimentSpec(arms=4, epsilon=0.01, scheme={"quorum": 3})
    for scheme in ({"quorum": 3}, "isolated"):
        scenario = Scenario(spec.with_(scheme=scheme), PROBLEMS["equal"], 8, engine="passes")
        with pytest.raises(NeverEnds, match=r"made [\d,]+ pulls, .*\nCheck the rule .*'ser3'"):
            run_trial(scenario, seed=0, trial=0, threads=threads)


@pytest.mark.parametrize(
    ("problem", "scheme", "horizon", "why"),
    [
        *((name, "decentralized", None, "no player alone can") for name in sorted(CHANGING)),
        ("plain", "pooled", None, "every pull concerns all"),
        ("plain", "isolated", 10, "a horizon counts the pulls"),
    ],
)
def test_passes_refuse_what_no_player_can_know_alone(problem, scheme, horizon, why):
    spec = ExperimentSpec(arms=4, scheme=scheme)
    with pytest.raises(SpecError, match=why):
        Scenario(spec, PROBLEMS[problem], 100, horizon, engine="passes")
    assert Scenario(spec, PROBLEMS[problem], 100_000, horizon).runs_on == "event"


def test_auto_takes_passes_for_many_players_and_sooner_where_each_is_alone():
    """The rule looks at the scenario only, so that nothing else changes a result."""

    def runs_on(n_players, *, scheme="decentralized", problem="plain", horizon=None):
        spec = ExperimentSpec(arms=4, scheme=scheme)
        return Scenario(spec, PROBLEMS[problem], n_players, horizon).runs_on

    assert [runs_on(n) for n in (PASSES_PAY - 1, PASSES_PAY)] == ["event", "passes"]
    sizes = (PASSES_PAY_ALONE - 1, PASSES_PAY_ALONE)
    assert [runs_on(n, scheme="isolated") for n in sizes] == ["event", "passes"]
    for other in ({"problem": "drift"}, {"scheme": "pooled"}, {"horizon": 5}):
        assert runs_on(PASSES_PAY, **other) == "event"


def test_the_result_says_which_engine_ran(tmp_path):
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    problem = Problem("plain", MEANS)
    file = tmp_path / "both.jsonl"
    for engine in ("event", "passes"):
        [result] = run_sweep(
            [Scenario(spec, problem, 8, engine=engine)], trials=1, workers=1, results=file
        )
        assert result.engine == engine
        assert load_results(result.save(tmp_path / "result.jsonl"))[0].engine == engine
    assert [result.engine for result in load_results(file)] == ["event", "passes"]
    with pytest.raises(SpecError, match="Use one of: auto, event, passes"):
        Scenario(spec, problem, 8, engine="passe")


@pytest.mark.parametrize("more", ["trace", "record"])
def test_what_is_kept_pull_by_pull_takes_the_event_loop(more):
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    problem = Problem("plain", MEANS)
    many = Scenario(spec, problem, PASSES_PAY)
    assert many.runs_on == "passes"
    [result] = run_sweep([many], trials=1, workers=1, **{more: True})
    assert result.engine == "event"
    with pytest.raises(SpecError, match=r"neither a trace nor a record.*\nUse engine event"):
        simulate(spec, problem, 8, trials=1, engine="passes", **{more: True})


def test_a_reproduction_in_passes_leaves_what_drifts_to_the_event_loop():
    scenario = setting("ser3", "decentralized", PROBLEMS["plain"], 8)
    drifting = Scenario(scenario.spec, PROBLEMS["drift"], 8)
    still = Scenario(scenario.spec, PROBLEMS["plain"], 8)
    assert with_engine(still, "passes").runs_on == "passes"
    assert with_engine(drifting, "passes").runs_on == "event"


def test_more_players_than_memory_holds_are_refused():
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    with pytest.raises(SweepError, match=r"takes .* GiB of memory, \d+ bytes each"):
        run_trial(Scenario(spec, Problem("plain", MEANS), 10**13), seed=0, trial=0)


@pytest.mark.parametrize("engine", ["event", "passes"])
@pytest.mark.parametrize("function", ["choose", "observe"])
def test_a_rule_that_returns_what_is_not_there_is_stopped(monkeypatch, engine, function):
    """A rule of this package, as those from outside are looked at before they run."""
    honest = get_algorithm("naive")

    def choose(rule, state, u):
        return 17 if state.pulls[0] == 9 else honest_choose(rule, state, u)

    def observe(rule, state, arm, reward, out):
        state.pulls[arm] += 1
        return 17 if state.pulls[0] == 9 else 0

    honest_choose = honest.choose
    broken = replace(honest, **{function: {"choose": choose, "observe": observe}[function]})
    choose.__module__ = observe.__module__ = "devote.rules.naive"
    monkeypatch.setitem(__import__("devote").rules.algorithm.ALGORITHMS, "naive", broken)
    spec = ExperimentSpec(arms=4, algorithm="naive", scheme={"quorum": 3})
    scenario = Scenario(spec, PROBLEMS["plain"], 5, engine=engine)
    with pytest.raises(RuleFault, match="naive returned an arm or a number"):
        run_trial(scenario, seed=0, trial=0)


def test_passes_that_grow_with_a_long_run_change_nothing():
    spec = ExperimentSpec(arms=10, options={"radius": "active"}, scheme="isolated")
    run = compare_exactly(Scenario(spec, get_problem("2"), 32, engine="passes"), 0)
    assert run.samples_until_all_know > 1.5 * 2_048 * 32
