"""The event loop makes the trials that it made when its golden results were frozen."""

import json

import pytest
from tests.simulator.golden import FILE, cells, outcome

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_rule_in_every_scheme_has_golden_results():
    assert cells().keys() == GOLDEN.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_trials_are_those_of_the_golden_results(name):
    scenario = cells()[name]
    for trial, expected in enumerate(GOLDEN[name]):
        assert outcome(scenario, trial) == expected
