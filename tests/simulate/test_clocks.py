"""Independent clocks make the runs of the event loop: exactly if fed alike, else in law."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import partial

import numba
import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.merged_clocks import merged_run
from tests.simulate.clocks_law import (
    CLOSE,
    STILL,
    compare_exactly,
    in_law,
    outcome_and_votes,
    setting,
)
from tests.simulate.settings import MEANS, PROBLEMS

from devote.kernels import SUBROUTINES, get_algorithm, tables
from devote.problems import Problem, Weights, get_problem
from devote.protocol import ExperimentSpec, SpecError
from devote.simulate import (
    NeverEnds,
    Result,
    Scenario,
    SweepError,
    load_results,
    run_sweep,
    run_trial,
    simulate,
)
from devote.simulate.engine import alone, numbers
from devote.simulate.engine.alone import pull_in_turn
from devote.simulate.engine.clocks import make_clocks
from devote.simulate.engine.clocks_run import ClocksRun
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.engine.loop import make_loop
from devote.simulate.engine.packing import Layout, shrink, widen
from devote.simulate.engine.run import Run
from devote.simulate.engine.windows import LIMIT, OVER, PHASE
from devote.simulate.scenario import CLOCKS_PAY, CLOCKS_PAY_EARLY
from devote.simulate.streams import Clock, counted_stream, trial_key
from devote.studies.reproduce import with_engine


def due_around_calls(scenario, trial):
    """Each call that may be loud: was a decision made, how many were due, how many are then.

    What is due then is asked as a GPU asks: of tables to which is added what the call has said, and
    in which nothing follows from it yet.
    """
    engine, found, due = scenario.scheme.engine, Counter(), scenario.scheme.engine.clocks.due

    def made_by(call, arena, *given):
        before = arena._replace(counters=arena.counters.copy(), shared=arena.shared.copy())
        were_due, is_open = due(before), before.counters[tables.N_SHARED] > 1
        call(arena, *given)
        was, now = before.counters, arena.counters
        was_decided, is_decided = was[tables.DECIDED] != 0, now[tables.DECIDED] != 0
        decided = bool(now[tables.VERSION] != was[tables.VERSION] or is_decided != was_decided)
        before.counters[tables.OWN :] = arena.counters[tables.OWN :]
        if is_open:
            found[decided, min(2, int(were_due)), min(1, int(due(before)))] += 1

    run = Run(scenario, seed=1, trial=trial)
    calls = {name: partial(made_by, getattr(engine, name)) for name in ("wake", "learn")}
    run.loop = make_loop(scenario.algorithm, replace(engine, **calls), 0)
    while not run.over:
        run.advance()
    return found


@pytest.mark.parametrize("scheme", ["decentralized", "jury", "private jury"])
def test_a_decision_falls_when_none_is_due_any_more_and_not_before(scheme):
    """A GPU adds up what was said until ``due`` says that a decision has fallen."""
    found = Counter()
    # With six votes the groups stall: a decision, though more than one vote is missing.
    for (problem, votes), trial in itertools.product(
        ((CLOSE, 3), (PROBLEMS["groups"], 6)), range(3)
    ):
        cell = setting("ser3", scheme, problem, 8, votes)
        found += due_around_calls(replace(cell, engine="event"), trial)
    assert found[True, 1, 0] >= 6
    assert found.keys() <= {(True, 1, 0), (False, 1, 1), (False, 2, 1)}


@pytest.mark.filterwarnings("ignore:overflow")  # as is meant, in plain Python
@pytest.mark.parametrize("name", ["median_elimination", "successive_elimination"])
@pytest.mark.parametrize("scheme", ["decentralized", "isolated"])
def test_pulls_made_in_one_go_are_those_made_one_by_one(name, scheme, monkeypatch):
    cell = setting(name, scheme, CLOSE, 6)
    one_by_one = replace(cell.algorithm, calm=None)
    calls = Counter()

    def counted(*given):
        calls[given[-1] > 10] += 1
        return pull_in_turn(*given)

    monkeypatch.setattr(alone, "pull_in_turn", counted)
    found = []
    for algorithm in (cell.algorithm, one_by_one):
        run = ClocksRun(cell, seed=4, trial=1)
        run.work = make_clocks(algorithm, cell.scheme.engine, 0)
        run.play()
        found.append(run.outcome())
    assert found[0] == found[1]
    assert min(calls[True], calls[False]) > 0


def test_a_run_on_clocks_is_the_run_of_the_merged_clocks():
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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["jury", "private jury"])
def test_a_jury_on_clocks_is_the_jury_of_the_merged_clocks(scheme):
    seen = {
        compare_exactly(setting("ser3", scheme, PROBLEMS[name], n_players), 0).status
        for name in STILL
        for n_players in ((8,) if name == "tied" else (8, 20))
    }
    assert {"agreed", "stalled"} <= seen


@pytest.mark.slow
def test_alone_on_clocks_is_alone_with_the_merged_clocks():
    for name in STILL:
        compare_exactly(setting("ser3", "isolated", PROBLEMS[name], 8), 0)


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=6),
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=12),
    votes=st.integers(1, 12),
    horizon=st.just(3_000) | st.integers(1, 1_500),
    seed=st.integers(0, 2**64),
)
@settings(max_examples=settings.default.max_examples)
def test_in_any_small_setting(means, weights, votes, horizon, seed):
    scheme = {"quorum": min(votes, len(weights))}
    spec = ExperimentSpec(arms=len(means), epsilon=0.9, scheme=scheme)
    problem = Problem("any", means, activity=Weights(weights))
    scenario = Scenario(spec, problem, len(weights), horizon, "clocks")
    run = compare_exactly(scenario, seed)
    assert run.samples <= horizon


@pytest.mark.parametrize("n_players", [1, 8])
@pytest.mark.parametrize("horizon", [None, 1, 50])
def test_in_plain_python_too(n_players, horizon):
    """Also one player alone, whose arrays would take a compilation of their own."""
    chosen = setting("ser3", "decentralized", PROBLEMS["plain"], n_players, min(n_players, 3))
    scenario = replace(chosen, horizon=horizon)
    for trial in range(5):
        run = ClocksRun(scenario, trial=trial)
        run.work = make_clocks(scenario.algorithm, scenario.scheme.engine, 0)
        with np.errstate(over="ignore"):
            run.play()
        expected = merged_run(scenario, trial=trial)
        assert outcome_and_votes(run) == outcome_and_votes(expected)


@pytest.mark.parametrize(
    ("algorithm", "scheme"),
    [
        (name, scheme)
        for name in SUBROUTINES
        for scheme in ("decentralized", "isolated", "jury")
        if name != "ser3" and not (scheme == "jury" and get_algorithm(name).endless)
    ],
)
def test_every_subroutine_on_clocks_is_that_of_the_merged_clocks(algorithm, scheme):
    """In plain Python: each would take seconds to compile."""
    for problem in ("plain", "beta"):
        scenario = replace(setting(algorithm, scheme, PROBLEMS[problem], 8), horizon=1_000)
        run = ClocksRun(scenario, trial=1)
        run.work = make_clocks(scenario.algorithm, scenario.scheme.engine, 0)
        with np.errstate(over="ignore"):
            run.play()
        assert outcome_and_votes(run) == outcome_and_votes(merged_run(scenario, trial=1))


@pytest.mark.parametrize("problem", ["plain", "zipf"])
def test_neither_threads_nor_windows_nor_pauses_change_a_run(monkeypatch, problem):
    scenario = setting("ser3", "decentralized", PROBLEMS[problem], 100)
    expected = run_trial(scenario, seed=3, trial=0, threads=1)
    monkeypatch.setattr("devote.simulate.engine.clocks_run.ROWS_PER_THREAD", 7)
    for threads in (2, 5):
        run = ClocksRun(scenario, seed=3, threads=threads)
        assert run.threads == threads
        run.play()
        assert run.outcome() == expected
    for width in (0.01, 1000.0):
        monkeypatch.setattr("devote.simulate.engine.clocks_run.FIRST_WIDTH", width)
        assert run_trial(scenario, seed=3, trial=0, threads=1) == expected
    monkeypatch.setattr("devote.simulate.engine.clocks_run.PULLS_AT_ONCE", 1)
    assert run_trial(scenario, seed=3, trial=0, threads=1) == expected


@pytest.mark.parametrize("fewest", [1, 8])
def test_a_window_that_is_shortened_changes_nothing(monkeypatch, fewest):
    """Players who have run past its new end are run again, with a decision before it or without."""
    monkeypatch.setattr("devote.simulate.engine.windows.FEWEST", fewest)
    chosen = setting("ser3", "decentralized", PROBLEMS["plain"], 20, 3)
    shortened = 0
    for horizon in (None, 700):
        scenario = replace(chosen, horizon=horizon)
        run = ClocksRun(scenario, trial=1)
        run.work = make_clocks(scenario.algorithm, scenario.scheme.engine, 0)
        with np.errstate(over="ignore"):
            while run.plan.words[PHASE] != OVER:
                run._work(0, 0, 0)
                if run.plan.words[PHASE] != OVER:
                    run._work(0, 0, 20)
                    end = run.plan.times[LIMIT]
                    run.gather([0, 20])
                    shortened += run.plan.times[LIMIT] < end
        assert outcome_and_votes(run) == outcome_and_votes(merged_run(scenario, trial=1))
    assert shortened > 0


@pytest.mark.parametrize(
    "problem",
    [
        Problem("beta", (0.9, 0.5, 0.2), rewards="beta"),
        Problem("bytes", (0.9,) + 199 * (0.1,)),
        Problem("more arms than a byte tells apart", (0.9,) + 299 * (0.1,)),
    ],
    ids=lambda problem: problem.name,
)
def test_rows_hold_any_rewards_and_any_number_of_arms(problem):
    horizon = 400 if problem.n_arms == 3 else 30 * problem.n_arms
    spec = ExperimentSpec(arms=problem.n_arms, epsilon=0.8, scheme={"quorum": 3})
    run = compare_exactly(Scenario(spec, problem, 4, horizon, "clocks"), 0)
    assert run.samples <= horizon


@pytest.mark.parametrize("algorithm", SUBROUTINES)
def test_a_player_comes_back_from_its_row_as_it_went_there(algorithm):
    problem = Problem("plain", (0.9, 0.5, 0.2, 0.1))
    options = {"phi": 0.001} if get_algorithm(algorithm).endless else {}
    spec = ExperimentSpec(arms=4, algorithm=algorithm, options=options)
    layout = Layout(Scenario(spec, problem, 28, 10, "clocks"))
    desk, narrow = layout.new_desk()
    buffers = [desk.alive[0], desk.ints, desk.floats, desk.own[0], desk.place]
    buffers += [desk.sums] + [desk.pulls] * get_algorithm(algorithm).counts_pulls
    for i, buffer in enumerate(buffers):
        buffer[:] = (np.arange(len(buffer)) + i) % 4
    before = [buffer.copy() for buffer in buffers]
    shrink(narrow, desk)
    row = desk.words.copy()
    assert row.nbytes == layout.row_bytes
    other, narrow = layout.new_desk()
    other.words[:] = row
    widen(narrow, other)
    after = [other.alive[0], other.ints, other.floats, other.own[0], other.place, other.sums]
    after += [other.pulls] * get_algorithm(algorithm).counts_pulls
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trial_that_goes_on_for_ever_is_ended_clearly(monkeypatch, threads):
    monkeypatch.setattr("devote.simulate.scenario.PATIENCE", 1.0)
    monkeypatch.setattr("devote.simulate.engine.clocks_run.PULLS_AT_ONCE", 1_000)
    monkeypatch.setattr("devote.simulate.engine.clocks_run.ROWS_PER_THREAD", 2)
    spec = ExperimentSpec(arms=4, epsilon=0.01, scheme={"quorum": 3})
    scenario = Scenario(spec, PROBLEMS["equal"], 8, engine="clocks")
    with pytest.raises(NeverEnds, match=r"made [\d,]+ pulls, .*\nCheck the rule .*'ser3'"):
        run_trial(scenario, seed=0, trial=0, threads=threads)


@pytest.mark.slow
def test_the_law_is_that_of_the_event_loop():
    """False alarm below 1e-6; a shift of the mean samples by 1 % is found with .999."""
    *_, shift = in_law(setting("ser3", "decentralized", Problem("plain", MEANS), 256, 64))
    assert shift <= 0.01


def test_compiled_numbers_are_those_of_plain_python():
    compiled_loop("ser3", "decentralized", "clocks")  # tells numba of the functions
    import numba

    @numba.njit
    def draw(key, cell, span):
        n = numbers.activations_in(key, cell)
        return [numbers.moment_of_rank(key, cell, n, span, rank) for rank in range(n)]

    @numba.njit
    def words(key, i):
        word = numbers.activation_word(key, i)
        noise = numbers.noise_word(key, i)
        return [numbers.unit(w) for w in (word, numbers.onward(word), noise)]

    clock = Clock(5, 2, 1)
    key = np.uint64(clock.key)
    for i in range(500):
        assert draw(key, i, 8 * 0.7) == clock.in_cell(i, 0.7)
        assert words(key, i) == [clock.choose(i), clock.pay(i), clock.noise(i)]
    stream = counted_stream(5, 2, "wake")
    first = [*stream.random(2), *stream.random(3)]
    assert np.array_equal(first, counted_stream(5, 2, "wake").random(5))
    assert trial_key(5, 2) != trial_key(5, 3)


def test_gaps_are_exponential_and_uniforms_uniform():
    """Each alarm is false with probability 1e-7; 30,000 numbers tell .02 of probability mass."""
    enough = 5.33 / math.sqrt(30_000)
    times = np.array(list(itertools.islice(Clock(1, 1, 0).times(2.0), 30_001)))
    gaps = np.diff(times) / 2.0
    assert scipy.stats.kstest(gaps, "expon").pvalue > 1e-7
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < enough
    drawn = {
        which: [getattr(Clock(1, 1, n), which)(i) for n in range(300) for i in range(100)]
        for which in ("choose", "pay", "noise")
    }
    for values in drawn.values():
        assert scipy.stats.kstest(values, "uniform").pvalue > 1e-7
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < enough
    # Choice and pay come from one word: no cell of a grid over both is more likely than another.
    counts, _, _ = np.histogram2d(drawn["choose"], drawn["pay"], bins=20, range=[(0, 1)] * 2)
    assert scipy.stats.chisquare(counts.ravel()).pvalue > 1e-7
    across = [next(Clock(1, 1, n).times(1.0)) for n in range(30_000)]
    assert scipy.stats.kstest(across, "expon").pvalue > 1e-7
    assert abs(np.corrcoef(across[1:], across[:-1])[0, 1]) < enough


@pytest.mark.parametrize("name", ["drift", "switches", "replay"])
def test_clocks_refuse_what_changes_with_the_number_of_pulls(name):
    scenario = setting("ser3", "decentralized", PROBLEMS["plain"], 8)
    with pytest.raises(SpecError, match="no player alone can know"):
        Scenario(scenario.spec, PROBLEMS[name], 8, engine="clocks")
    assert Scenario(scenario.spec, PROBLEMS[name], 100_000).runs_on == "event"


def test_windows_that_grow_with_a_long_run_change_nothing():
    """After 2,048 activations each they are longer than in the short runs above."""
    spec = ExperimentSpec(arms=10, options={"radius": "active"}, scheme="isolated")
    run = compare_exactly(Scenario(spec, get_problem("2"), 32, engine="clocks"), 0)
    assert run.samples > 1.5 * 2_048 * 32


def test_auto_takes_clocks_for_many_players_and_sooner_where_each_runs_long_alone():
    """The rule looks at the scenario only, so that nothing else changes a result."""

    def runs_on(n_players, *, algorithm="ser3", scheme="decentralized", problem="plain"):
        spec = ExperimentSpec(arms=4, algorithm=algorithm, scheme=scheme)
        return Scenario(spec, PROBLEMS[problem], n_players).runs_on

    assert [runs_on(n) for n in (CLOCKS_PAY - 1, CLOCKS_PAY)] == ["event", "clocks"]
    for early in ({"algorithm": "median_elimination"}, {"scheme": "isolated"}):
        sizes = (CLOCKS_PAY_EARLY - 1, CLOCKS_PAY_EARLY)
        assert [runs_on(n, **early) for n in sizes] == ["event", "clocks"]
        assert runs_on(CLOCKS_PAY, **early, problem="drift") == "event"
    assert runs_on(CLOCKS_PAY, scheme="pooled") == "event"


def test_one_player_and_many_run_the_same_compiled_code():
    """Numba compiles anew for arrays that lie otherwise in memory, which takes seconds."""

    def types(n_players):
        run = ClocksRun(setting("ser3", "isolated", PROBLEMS["plain"], n_players))
        room = run.rows, run.plan, run.desks[0], run.narrow[0], run.real
        return [numba.typeof(argument) for argument in (*run.given, *room)]

    assert types(1) == types(2)


def test_the_result_says_which_engine_ran(tmp_path):
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    problem = Problem("plain", MEANS)
    file = tmp_path / "both.jsonl"
    for engine in ("event", "clocks"):
        result = simulate(spec, problem, 8, trials=1, engine=engine, results=file)
        assert result.engine == engine
        assert Result.load(result.save(tmp_path / "result.npz")).engine == engine
    assert [result.engine for result in load_results(file)] == ["event", "clocks"]
    with pytest.raises(SpecError, match="Use one of: auto, event, clocks"):
        Scenario(spec, problem, 8, engine="clock")


@pytest.mark.parametrize("more", ["trace", "record"])
def test_what_is_kept_pull_by_pull_takes_the_event_loop(more):
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    problem = Problem("plain", MEANS)
    many = Scenario(spec, problem, CLOCKS_PAY, 1)
    assert many.runs_on == "clocks"
    [result] = run_sweep([many], trials=1, workers=1, **{more: True})
    assert result.engine == "event"
    with pytest.raises(SpecError, match=r"neither a trace nor a record.*\nUse engine event"):
        simulate(spec, problem, 8, trials=1, engine="clocks", **{more: True})
    merged = Scenario(spec.with_(scheme="pooled"), problem, 8, 50, "clocks")
    assert run_trial(merged, seed=0, trial=0, **{more: True}).samples == 50


def test_a_reproduction_on_clocks_leaves_what_drifts_to_the_event_loop():
    scenario = setting("ser3", "decentralized", PROBLEMS["plain"], 8)
    drifting = Scenario(scenario.spec, PROBLEMS["drift"], 8)
    still = Scenario(scenario.spec, PROBLEMS["plain"], 8)
    assert with_engine(still, "clocks").runs_on == "clocks"
    assert with_engine(drifting, "clocks").runs_on == "event"


def test_more_players_than_memory_holds_are_refused():
    spec = ExperimentSpec(arms=4, epsilon=0.6, scheme={"quorum": 3})
    with pytest.raises(SweepError, match=r"takes .* GiB of memory, \d+ bytes each"):
        run_trial(Scenario(spec, Problem("plain", MEANS), 10**13), seed=0, trial=0)
