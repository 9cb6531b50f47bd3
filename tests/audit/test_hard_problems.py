"""All ten subroutines on the hard problems: under a jury those that end, SER4 under the vote.

A jury of 7, of whom 4 decide, promises .0333 at eta = .2. With epsilon = .5 the problems are as
hard as with .25, and four times as short. Each subroutine makes 340 runs on each
of five problems. It is refused when as many failures would come with probability below 1e-7 from
a jury that fails as often as is promised: nine sums, so the false-alarm probability is below
1e-6. Of 1,700 runs 100 failures and more are refused, so that a jury that fails twice as often
as is promised is found out with probability .91.
"""

import pytest
from scripts.subroutines_on_hard_problems import SUBROUTINES, hard_scenarios

from devote.audit.correctness import audit_correctness, has_failed
from devote.rules.algorithm import ALGORITHMS
from devote.schemes import Jury
from devote.simulator.trials import run_chunk
from devote.theory import binomial_tail

JURY = Jury(seats=7)
RUNS = 340
FALSE_ALARM = 1e-7


def failures(scenarios, runs):
    return sum(
        has_failed(scenario, run)
        for scenario in scenarios
        for run in run_chunk(scenario, range(runs), 1, trace=scenario.algorithm.endless)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in SUBROUTINES if not ALGORITHMS[n].endless])
def test_the_jury_keeps_its_promise_on_every_hard_problem(name):
    scenarios = hard_scenarios(name, jury=JURY, epsilon=0.5, n_players=8)
    spec = scenarios[0].spec
    promised = JURY.failure(spec, JURY.votes_needed(spec))
    assert (spec.eta, JURY.votes_needed(spec)) == (0.2, 4)
    assert promised == pytest.approx(0.0333, abs=1e-4)
    total = RUNS * len(scenarios)
    assert binomial_tail(100, total, probability=promised) < FALSE_ALARM
    assert binomial_tail(100, total, probability=2 * promised) > 0.9, "the power that is stated"
    count = failures(scenarios, RUNS)
    assert binomial_tail(count, total, probability=promised) >= FALSE_ALARM


@pytest.mark.slow
def test_ser4_stays_under_delta_on_every_hard_problem():
    """A run has failed if any of its terms has: nothing is promised of it, so there is no promise
    to double. 300 runs; 41 failures and more would have probability below 1e-8 at .05, and .18
    would be found with probability .97 and more.
    """
    scenarios = hard_scenarios("ser4")
    assert binomial_tail(failures(scenarios, 60), 300, probability=0.05) >= 1e-8


def test_ser4_is_audited_at_a_phi_at_which_resets_happen():
    """The audit's own phi: 3 resets a run on average, and time to answer between them.

    100 runs: fewer than 200 resets where 300 are expected have probability below 1e-9. At phi =
    1e-6 there would be 15, and hardly a second term.
    """
    found = audit_correctness(hard_scenarios("ser4")[0], precision=0.03)
    assert found.mean_resets > 2.0
    assert found.terms.runs > 2 * found.failure.runs
    assert found.terms.count == found.failure.count == 0
    assert audit_correctness(hard_scenarios("ser3")[0], precision=0.2).terms is None
