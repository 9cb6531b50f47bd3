"""All ten subroutines on the hard problems under the jury.

A cell is refused when as many failures as it saw would come with probability below 1e-8 from a jury
that fails with probability delta, the worst that is promised: 50 cells and ten sums, so the
false-alarm probability is below 1e-6. Of 60 runs 17 and more failed ones are refused, of 300 all
together 41 and more. A run of SER4 has failed if any of its terms has: nothing is promised of it,
and it is held to the same.
"""

import pytest

from devote.audit.correctness import audit_correctness, has_failed
from devote.audit.subroutines import SUBROUTINES, hard_cells
from devote.simulate.cell import run_chunk
from devote.theory import binomial_tail

RUNS = 60
DELTA = 0.05


def plausible(count, runs):
    return binomial_tail(count, runs, probability=DELTA) >= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", SUBROUTINES)
def test_the_jury_stays_under_delta_on_every_hard_problem(algorithm):
    counts = []
    for cell in hard_cells(algorithm):
        assert cell.spec.delta == DELTA
        setting = cell.setting
        runs, _ = run_chunk(cell, range(RUNS), 1, trace=setting.algorithm.endless)
        counts.append(sum(has_failed(setting, run) for run in runs))
        assert plausible(counts[-1], RUNS)
    assert plausible(sum(counts), RUNS * len(counts))


def test_ser4_is_audited_at_a_phi_at_which_resets_happen():
    """The audit's own phi: 3 resets a run on average, and time to answer between them.

    100 runs: fewer than 200 resets where 300 are expected have probability below 1e-9. At phi =
    1e-6 there would be 15, and hardly a second term.
    """
    cell = hard_cells("ser4", protocol="decentralized")[0]
    found = audit_correctness(cell, precision=0.03)
    assert found.mean_resets > 2.0
    assert found.terms.runs > 2 * found.failure.runs
    assert found.terms.count == found.failure.count == 0
    assert audit_correctness(hard_cells("ser3")[0], precision=0.2).terms is None
