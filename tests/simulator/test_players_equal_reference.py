"""Runs of ``Player`` objects are runs of Algorithm 2 as printed, event for event.

Both sides get the same uniforms, the same waking and the same rewards, and nothing else in
common: the reference keeps its own votes, terms and learners.
"""

from functools import partial
from random import Random

import pytest
from hypothesis import Phase, event, find, given, settings
from hypothesis import strategies as st
from tests.reference import algorithm_2
from tests.reference.subroutines import SUBROUTINES

from devote.problems import Problem, Split, Uniform, Zipf, pay, pick
from devote.protocol import ExperimentSpec
from devote.rules import get_algorithm
from devote.simulator import run_players

SCHEMES = ["decentralized", "isolated", "pooled"]
EXAMPLES = {"kl_lucb": 8, "median_elimination": 15}
"""Where the reference is slow; the rest take as many as the profile says."""

HORIZON = {"kl_lucb": 800, "median_elimination": 8_000}
STATUSES = {"disagreed": "stalled"}
"""The reference's word for isolated players who end with different arms, and ours."""

means = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0.0, 1.0).map(lambda x: round(x, 3))
activities = st.sampled_from([Uniform(), Split(), Split(0.3, 0.9), Zipf(0.5), Zipf(1.5)])


@st.composite
def problems(draw, families):
    n_arms = draw(st.integers(2, 6))
    row = st.lists(means, min_size=n_arms, max_size=n_arms)
    activity = draw(activities)
    rewards = draw(st.sampled_from(families))
    change = draw(st.sampled_from(["none", "none", "groups", "drift", "switches"]))
    if change == "groups":
        groups = ((0.5, draw(row)), (0.5, draw(row)))
        return Problem("random", activity=activity, rewards=rewards, groups=groups)
    slopes = st.lists(st.floats(-1e-3, 1e-3), min_size=n_arms, max_size=n_arms)
    return Problem(
        "random",
        draw(row),
        activity=activity,
        rewards=rewards,
        drift=draw(slopes) if change == "drift" else None,
        switches=((300, draw(row)),) if change == "switches" else (),
    )


@st.composite
def runs(draw, name):
    algorithm = get_algorithm(name)
    # Means close to 1 after a pull or two give Kullback-Leibler bounds that only rounding orders.
    families = ["bernoulli"] if name == "kl_lucb" else ["bernoulli", "beta", "uniform"]
    problem = draw(problems(families))
    n_players = draw(st.integers(2, 12))
    coarse = name in ("median_elimination", "kl_lucb")
    options = {
        option: draw(
            st.sampled_from(allowed) if isinstance(allowed, tuple) else st.floats(0.5, 50.0)
        )
        for option, allowed in algorithm.options.items()
        if option != "phi"
    }
    numbers = {
        "epsilon": draw(st.floats(0.8, 1.0) if coarse else st.floats(0.4, 1.0)),
        "eta": draw(st.floats(0.1, 0.95)),
        "delta": draw(st.floats(0.05, 0.5)),
    }
    scheme = {"quorum": draw(st.integers(1, n_players))}
    if algorithm.endless:
        options["phi"] = draw(st.sampled_from([1e-6, 0.002, 0.05]))
    spec = ExperimentSpec(
        arms=problem.n_arms, algorithm=name, options=options, scheme=scheme, **numbers
    )
    horizon = HORIZON.get(name, 3_000) - draw(st.sampled_from([0, 0, 0, 500]))
    return spec, problem, n_players, draw(st.integers(0, 2**32)), horizon


def triples(seed):
    rng = Random(seed)
    while True:
        yield rng.random(), rng.random(), rng.random()


def run_reference(spec, problem, n_players, seed, horizon):
    environment = problem.environment(n_players)
    waking = problem.waking(n_players)
    options = {name: value for name, value in spec.options.items() if name != "phi"}
    return algorithm_2.run(
        spec.scheme.name,
        partial(SUBROUTINES[spec.algorithm], **options),
        spec.n_arms,
        n_players,
        epsilon=spec.epsilon,
        eta=spec.eta,
        delta=spec.delta,
        quorum=spec.votes_needed,
        uniforms=triples(seed),
        wake=lambda u: pick(*waking, u),
        pay=lambda t, player, arm, u: pay(environment, t, player, arm, u),
        horizon=horizon,
        phi=spec.options.get("phi", 0.0),
    )


def assert_equal(ours, theirs, n_players):
    trace = ours.trace
    votes = [(e.time, e.player, e.arm, e.term) for e in trace if e.kind == "vote"]
    assert votes == theirs.votes
    assert ours.samples_until_all_know == theirs.samples
    assert ours.broadcasts == theirs.broadcasts
    assert ours.deliveries == theirs.deliveries
    assert ours.status == STATUSES.get(theirs.status, theirs.status)
    assert ours.winners == tuple(theirs.winners)
    assert ours.conflicts == theirs.conflicts
    assert ours.resets == theirs.resets
    assert ours.first_vote == tuple(theirs.first_vote.get(n, -1) for n in range(n_players))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", SUBROUTINES)
def test_a_run_of_players_equals_the_reference(name, scheme):
    @settings(max_examples=min(EXAMPLES.get(name, 10**6), settings().max_examples))
    @given(runs(name))
    def equal(run):
        spec, problem, n_players, seed, horizon = run
        if scheme != "decentralized":
            spec = spec.with_(scheme=scheme)
        ours = run_players(
            spec,
            problem,
            n_players,
            horizon=horizon,
            uniforms=triples(seed),
            trace=True,
        )
        theirs = run_reference(spec, problem, n_players, seed, horizon)
        event(f"status {ours.status}")
        event(f"conflicts {ours.conflicts > 0}")
        event(f"resets {ours.resets > 0}")
        assert_equal(ours, theirs, n_players)

    equal()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_on_the_paper_s_problem_equals_the_reference(scheme, seed):
    problem = Problem("small", [0.7, 0.5, 0.3, 0.1], activity=Split())
    spec = ExperimentSpec(arms=4, algorithm="ser3", eta=0.7, delta=0.1, scheme=scheme)
    ours = run_players(spec, problem, 12, uniforms=triples(seed), trace=True)
    theirs = run_reference(spec, problem, 12, seed, 10**6)
    assert ours.status == "agreed"
    assert_equal(ours, theirs, 12)


@pytest.mark.parametrize("ending", ["agreed", "stalled", "unfinished", "conflict", "reset"])
def test_random_runs_end_in_every_way_and_meet_conflicts_and_resets(ending):
    """The comparison above means something: its instances reach the rare branches."""

    def is_met(run):
        spec, problem, n_players, seed, horizon = run
        ours = run_players(spec, problem, n_players, horizon=horizon, uniforms=triples(seed))
        return {"conflict": ours.conflicts, "reset": ours.resets}.get(ending, ours.status == ending)

    # Which examples come first depends on what else is imported, so there may be many.
    search = settings(max_examples=2_000, phases=[Phase.generate])
    find(runs("naive") | runs("ser4") | runs("ser3"), is_met, settings=search)
