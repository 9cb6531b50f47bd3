"""Problem 4, whose best arm switches twice: DSER3 and DSER4 up to each of many horizons.

A trial draws from its own streams, so the run to a later horizon begins with the run to an
earlier one: the difference of two counts is what happened in between.
"""

from devote.problems import get_problem
from devote.simulate import Scenario
from devote.studies.settings import Settings
from devote.studies.study import Planned
from devote.studies.variants import DELTA, SER3_UNION, SER4
from devote.theory import printed_phi as printed_phi_of

PROBLEM = "4"
HORIZON = 180_000
WINDOW = 6_000
HORIZONS = tuple(range(WINDOW, HORIZON + 1, WINDOW))

PHI = 4e-5
"""About what ``theory.recommended_phi`` gives: 3.8e-5, where a term costs 7,800 plays."""

PHIS = (5e-6, 1e-5, 2e-5, PHI, 8e-5, 1.6e-4, 3.2e-4, 6.4e-4)

QUORUM = SER4.spec(phi=PHI).votes_needed or 0


def scenarios(settings: Settings) -> list[Planned]:
    """What the figure and the claims read.

    The smallest number of players: switches come every 60,000 pulls, and terms must fit.
    """
    n = settings.players[0]
    runs = [
        *(scenario(n, horizon) for horizon in HORIZONS),
        *(scenario(n, horizon, PHI) for horizon in HORIZONS),
        *(scenario(n, HORIZON, phi) for phi in (*PHIS, printed_phi(n)) if phi != PHI),
    ]
    return [Planned(run, settings.trials) for run in runs]


def scenario(n_players: int, horizon: int, phi: float | None = None) -> Scenario:
    """DSER4 with this probability of a reset, or DSER3 with none."""
    spec = SER3_UNION.spec() if phi is None else SER4.spec(phi=phi)
    return Scenario(spec, get_problem(PROBLEM), n_players, horizon)


def printed_phi(n_players: int) -> float:
    """The probability of a reset that the paper prints.

    Paper: Theorem 4, end of its proof.
    Differs from print: not recommended (erratum 17); ``PHI`` is.
    """
    return printed_phi_of(
        len(get_problem(PROBLEM).switches),
        p_star=1.0 / n_players,
        n_arms=10,
        quorum=QUORUM,
        delta=DELTA,
    )
