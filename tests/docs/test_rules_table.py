"""The table of all rules in docs/guide.md names every rule, and the rules beside them are sound."""

import re

import pytest
from benchmarks.rules_on_clicks import CONTENDERS, LEFT_OUT, SETTINGS, TOP_TWO, cost
from tests.docs.markdown import ROOT

from devote.rules import SUBROUTINES
from devote.rules.bernoulli_kl import divergence
from devote.simulator import check_algorithm
from devote.theory import sample_lower_bound

GUIDE = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
HEAD, _, *ROWS = (
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| rule \|.*\n(?:\|.*\n)+", GUIDE, flags=re.M)[0].splitlines()
)
MEANS = {
    row[0]: [float(re.match(r"[\d,]+", cell)[0].replace(",", "")) for cell in row[1:]]
    for row in ROWS
}


def test_the_table_has_every_rule_and_every_setting_of_its_command():
    assert HEAD[1:] == [setting.name for setting in SETTINGS]
    assert [row[0] for row in ROWS[:-1]] == [name for name, _, _ in CONTENDERS]
    assert set(MEANS) >= set(SUBROUTINES) - set(LEFT_OUT)


def test_its_last_line_is_the_lower_bound_which_no_rule_comes_below():
    for place, setting in enumerate(SETTINGS):
        bound = sample_lower_bound(setting.means, epsilon=setting.epsilon, delta=0.05)
        column = [row[place] for row in MEANS.values()]
        assert column[-1] == round(bound) == min(column)


def test_the_outside_rule_is_without_fault():
    check_algorithm(TOP_TWO, compiled=False)


@pytest.mark.parametrize(
    ("mine", "other", "epsilon"),
    [((7, 3), (2, 8), 0.1), ((0, 20), (0, 30), 0.05), ((9, 0), (1, 9), 0.3)],
)
def test_the_outside_rules_cost_is_the_least_of_a_fine_grid(mine, other, epsilon):
    """Ones and zeros of two arms: the likelihood ratio to arms of which one is epsilon better."""
    state = TOP_TWO.new_state(2)
    for arm, (ones, zeros) in enumerate((mine, other)):
        state.pulls[arm], state.sums[arm] = ones + zeros, float(ones)
    grid = [x * (1.0 - epsilon) / 100_000 for x in range(100_001)]
    least = min(
        sum(mine) * divergence(mine[0] / sum(mine), x)
        + sum(other) * divergence(other[0] / sum(other), x + epsilon)
        for x in grid
    )
    assert cost(state, 0, 1, epsilon) == pytest.approx(least, rel=1e-6)
