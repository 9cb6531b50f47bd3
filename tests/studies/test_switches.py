"""Suboptimal plays: counted on past the end of a run, and split into windows of time."""

import numpy as np
import pytest
from scripts.phi_table import Fleet

from devote.problems import get_problem
from devote.simulator import simulate
from devote.studies import Settings, choose
from devote.studies.reproduce import run
from devote.studies.switches import (
    HORIZON,
    PHI,
    WINDOW,
    printed_phi,
    scenario,
    shares_over_time,
    suboptimal_plays,
    total,
)

TINY = Settings(players=(32,), trials=2)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return run(choose(["switches"]), TINY, tmp_path_factory.mktemp("results"), workers=1)


def test_after_the_end_every_play_is_of_the_winner():
    """Play by play: from the end to the horizon, against the arms that are good at that time."""
    item = scenario(32, 70_000)
    result = simulate(item.spec, item.problem, 32, trials=2, horizon=70_000)
    problem = get_problem("4")
    good = {t: problem.optimal(32, t, 0.25) for t in (0, 60_000)}
    for i in range(2):
        winner, end = result.winners[i][0], int(result.samples_until_all_know[i])
        assert end < 60_000
        late = sum(winner not in good[60_000 if t >= 60_000 else 0] for t in range(end, 70_000))
        assert suboptimal_plays(result)[i] == result.suboptimal_plays[i] + late


def test_a_run_that_has_not_ended_is_counted_as_it_is():
    item = scenario(32, 5_000, PHI)
    result = simulate(item.spec, item.problem, 32, trials=2, horizon=5_000)
    assert suboptimal_plays(result).tolist() == result.suboptimal_plays.tolist()


@pytest.mark.parametrize("phi", [None, PHI])
def test_the_windows_add_up_to_the_whole(table, phi):
    shares = shares_over_time(table, phi)
    assert shares.shape == (2, HORIZON // WINDOW)
    assert shares.min() >= 0
    assert shares.max() <= 1
    np.testing.assert_allclose(shares.sum(axis=1) * WINDOW, total(table, phi))


def test_the_phi_table_is_about_problem_4():
    fleet = Fleet(32, 0.9)
    assert (fleet.problem.means, fleet.problem.switches) == (
        get_problem("4").means,
        get_problem("4").switches,
    )
    assert fleet.horizon == HORIZON
    assert fleet.printed() == printed_phi(32)
