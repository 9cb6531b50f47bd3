"""What the figures draw: each thing once, in its own colour."""

import pytest

from devote.studies import Settings, choose, style
from devote.studies.reproduce import run
from devote.studies.variants import SUBROUTINES
from devote.theory import sample_lower_bound

SMALL = Settings(players=(32, 64, 128), trials=2)
MEANS = (0.7, 0.5, 0.3, *[0.1] * 7)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    (problem_1,) = choose(["problem-1"])
    table = run([problem_1], SMALL, tmp_path_factory.mktemp("results"), workers=1)
    with style.house_style():
        return problem_1.figure(table).axes[0]


def test_what_does_not_depend_on_the_number_of_players_is_drawn_once(samples):
    """20 trials of the 0-privacy baseline, plotted for each N, look like many."""
    points = sorted(len(line.get_xdata()) for line in samples.lines)
    assert points == [2, 2, 2, 3, 3, 3, 3], "two of 0-privacy, the lower bound, four of the others"


def test_the_lower_bound_is_that_of_the_problem_drawn(samples):
    bound = sample_lower_bound(MEANS, epsilon=0.25, delta=0.05)
    assert any(set(line.get_ydata()) == {bound} for line in samples.lines)


def test_a_colour_is_one_subroutine():
    assert len(set(style.SUBROUTINES.values())) == len(style.SUBROUTINES)
    assert {variant.label for variant in SUBROUTINES.values()} <= set(style.SUBROUTINES)
