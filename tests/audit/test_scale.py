"""The table of the schemes at scale: what it covers, and that a row counts what it says."""

from itertools import product

from scripts.schemes_at_scale import (
    HARD,
    PLAYERS,
    PROBLEM_1,
    SCHEMES,
    as_markdown,
    at_scale,
    scenarios,
)

from devote.protocol import ExperimentSpec
from devote.simulator import Scenario


def test_it_covers_both_problems_with_every_scheme_at_every_size():
    covered = {(one.problem.name, one.scheme.name, one.n_players) for one, _ in scenarios()}
    names = [scheme.name for scheme in SCHEMES]
    assert covered == set(product([PROBLEM_1.name, HARD.name], names, PLAYERS))


def test_a_survey_of_too_few_devices_is_counted_as_without_an_answer():
    spec = ExperimentSpec(arms=2, algorithm="mixture_elimination", epsilon=0.09, scheme="survey")
    few, enough = (Scenario(spec, HARD, n) for n in (200, 20_000))
    _, _, *rows = as_markdown(at_scale([(few, 2), (enough, 2)], workers=1))
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert [row[8] for row in cells] == ["2", "0"]
    assert [row[9].split(" [")[0] for row in cells] == ["0 of 2", "0 of 2"]
    assert cells[1][3] == "20,000"
