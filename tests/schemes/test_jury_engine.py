"""The jury by the engine and by ``Player`` objects: the same runs, the same seats.

And the seats do not move when the rewards change and the activity does not, which is what makes
the jury a fixed group in the sense of Theorem 1's proof.
"""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from devote.kernels.registry import ALGORITHMS
from devote.problems import Problem, Split, Uniform, Zipf
from devote.protocol import ExperimentSpec
from devote.simulate import Setting, run_players, run_trial

WORLDS = ((0.9, 0.1, 0.1), (0.1, 0.1, 0.9), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def both(setting, *, seed=0, trial=0):
    engine = run_trial(setting, seed=seed, trial=trial, trace=True)
    players = run_players(
        setting.spec,
        setting.problem,
        setting.n_players,
        protocol="jury",
        seed=seed,
        trial=trial,
        horizon=setting.horizon,
        trace=True,
    )
    # Not by assert: pytest would spend minutes on telling two long traces apart.
    if engine != players:
        pytest.fail(f"{setting.spec} with {setting.n_players} players, {seed=} {trial=}")
    return engine


def setting_of(algorithm, means, **changes):
    endless = ALGORITHMS[algorithm].endless
    coarse = algorithm == "median_elimination"
    given = {
        "epsilon": 0.95 if coarse else 0.6,
        "eta": 0.6,
        "delta": 0.1,
        "seat_after": 20,
        "phi": 2e-3 if endless else 0.0,
    }
    n_players = changes.pop("n_players", 9)
    horizon = changes.pop("horizon", 2_000 if endless else 15_000)
    activity = changes.pop("activity", Uniform())
    spec = ExperimentSpec(arms=len(means), algorithm=algorithm, **{**given, **changes})
    return Setting.of(spec, Problem("w", means, activity=activity), n_players, "jury", horizon)


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=5),
    algorithm=st.sampled_from(["ser3", "ser4"]),
    absent=st.integers(0, 1),
    spare=st.integers(0, 4),
    delta=st.sampled_from([0.2, 0.1]),
    seat_after=st.integers(1, 60),
    activity=st.sampled_from([Uniform(), Split(), Zipf(1.0)]),
    seed=st.integers(0, 2**64),
)
def test_engine_equals_players_in_any_small_jury(
    means, algorithm, absent, spare, delta, seat_after, activity, seed
):
    changes = {"delta": delta, "absent": absent, "seat_after": seat_after, "eta": 0.5}
    spec = ExperimentSpec(arms=len(means), **changes)
    setting = setting_of(
        algorithm,
        means,
        n_players=spec.jury_size + spare,
        horizon=2_500,
        activity=activity,
        **changes,
    )
    event(both(setting, seed=seed).status)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_engine_equals_players_for_every_subroutine(algorithm):
    for means in ((0.9, 0.1, 0.1), (0.6, 0.6, 0.1)):
        for absent in (0, 1):
            setting = setting_of(algorithm, means, absent=absent, n_players=16)
            run = both(setting, seed=2)
            assert sum(event.kind == "seat" for event in run.trace) == setting.spec.jury_size


def test_a_jury_split_over_two_equal_arms_stalls_and_says_so():
    """Erratum 5 for juries: reported at once, never spun on, in both engines."""
    statuses = {both(setting_of("ser3", (0.7, 0.7)), trial=trial).status for trial in range(6)}
    assert "stalled" in statuses
    assert "unfinished" not in statuses


def test_seats_that_are_never_filled_leave_the_run_unfinished():
    run = both(setting_of("ser3", (0.9, 0.1), seat_after=10_000, horizon=3_000))
    assert run.status == "unfinished"
    assert run.broadcasts == 0


def seats(run):
    return [(event.time, event.player) for event in run.trace if event.kind == "seat"]


@pytest.mark.parametrize("activity", [Uniform(), Split(), Zipf(1.0)], ids=lambda a: a.spec)
def test_the_jury_is_the_same_when_rewards_change_and_activity_does_not(activity):
    """By the engine and by players; the same streams wake the same players in every world."""
    for trial in range(3):
        found = [
            seats(both(setting_of("ser3", means, activity=activity), seed=5, trial=trial))
            for means in WORLDS
        ]
        assert len(found[0]) == setting_of("ser3", WORLDS[0]).spec.jury_size
        assert found.count(found[0]) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "ser4"])
def test_the_jury_is_the_same_for_every_subroutine(algorithm):
    """Who sits does not even depend on the subroutine, but for resets, which send no claim."""
    reference = seats(run_trial(setting_of("ser3", WORLDS[0]), seed=6, trial=0, trace=True))
    for means in WORLDS:
        run = run_trial(setting_of(algorithm, means), seed=6, trial=0, trace=True)
        assert seats(run) == reference
