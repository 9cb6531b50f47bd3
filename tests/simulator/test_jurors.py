"""A jury simulated by its jurors alone has the law of the jury in its fleet."""

import math

import pytest

from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import Jury
from devote.simulator import simulate
from devote.simulator.jurors import simulate_jury

P1 = PROBLEMS["1"]


@pytest.mark.parametrize(
    ("jury", "eta", "n_players"),
    [
        (Jury(), 0.2, 64),
        (Jury(seats=29, seat_after=120), 0.2, 64),  # most are done before they have a seat
        (Jury(seats=61, privacy=2.0, vote_after=150), 0.1, 128),
        (Jury(seats=32, liars=2), 0.2, 32),
    ],
)
def test_it_has_the_law_of_the_fleet(jury, eta, n_players):
    """Means and stalls of 300 runs each, 4.9 standard errors of both: false alarm 1e-6 each.

    The standard errors are below 1 % of the plays: 7 % are found with probability .95.
    """
    spec = ExperimentSpec(arms=10, eta=eta, scheme=jury)
    alone = simulate_jury(spec, P1.means, n_players, runs=300, seed=2)
    fleet = simulate(spec, P1, n_players, trials=300, seed=3)
    plays = fleet.samples / n_players
    error = math.hypot(alone.plays.std(ddof=1), plays.std(ddof=1)) / math.sqrt(300)
    assert error < 0.01 * plays.mean()
    assert abs(alone.plays.mean() - plays.mean()) < 4.9 * error
    said = math.hypot(alone.messages.std(ddof=1), fleet.broadcasts.std(ddof=1)) / math.sqrt(300)
    assert abs(alone.messages.mean() - fleet.broadcasts.mean()) < 4.9 * said + 1e-9
    stalls = float((alone.winner < 0).mean()), float(fleet.ended("stalled").mean())
    assert abs(stalls[0] - stalls[1]) < 4.9 * math.sqrt(2 * 0.25 / 300)
    assert not alone.cut.any()


@pytest.mark.parametrize(("n_players", "value", "error"), [(64, 6_525, 60), (1_024, 99_318, 700)])
def test_it_costs_what_the_reference_says(n_players, value, error):
    """4.9 standard errors of both; the reference's are not printed and taken from its runs."""
    spec = ExperimentSpec(arms=10, eta=0.2, scheme="jury")
    runs = simulate_jury(spec, P1.means, n_players, runs=400)
    samples = runs.plays * n_players
    own = samples.std(ddof=1) / 20.0
    assert abs(samples.mean() - value) < 4.9 * math.hypot(own, error)
    assert abs(runs.messages.mean() - 39.1) < 0.4


def test_a_million_devices_cost_no_more_than_a_hundred_and_take_the_same_plays():
    spec = ExperimentSpec(arms=10, eta=0.2, scheme="jury")
    few, many = (simulate_jury(spec, P1.means, n, runs=50).plays.mean() for n in (10**3, 10**6))
    assert many == pytest.approx(few, rel=0.1)


def test_a_juror_that_takes_too_long_is_given_up_and_that_is_said():
    spec = ExperimentSpec(arms=2, epsilon=0.01, scheme="jury")
    assert simulate_jury(spec, [0.5, 0.5], 50, runs=2, longest=100).cut.all()


def test_fewer_devices_than_seats_are_refused():
    with pytest.raises(SpecError, match="as many players"):
        simulate_jury(ExperimentSpec(arms=2, scheme="jury"), [0.5, 0.4], 20, runs=1)
