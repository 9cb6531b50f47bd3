"""What section 5.2 says about UGapEc against SER3 on the two stationary problems."""

from collections.abc import Callable
from functools import partial

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, mean
from devote.studies.measuring import CLEARLY, by_form, compared
from devote.studies.table import Table
from devote.studies.variants import UGAPEC, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"
STATIONARY = ("1", "2")


def subroutine_claims(table: Table) -> list[Claim]:
    """The rows."""
    return [_outperforms(table), _gain_grows(table), _decentralized(table)]


def _on_both(measure: Callable[..., tuple[Estimate, ...]], least: float) -> tuple[Case, ...]:
    """A case for each problem and form; ``measure`` takes SER3 and the problem."""
    cases: list[Case] = []
    for problem in STATIONARY:
        on_it = partial(measure, problem=problem)
        cases += by_form(on_it, Range(low=least), label=f"problem {problem}, ")
    return tuple(cases)


def _outperforms(table: Table) -> Claim:
    def slower(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return compared(table, (ser3, "isolated", problem), (UGAPEC, "isolated", problem))

    return Claim(
        name="1-privacy-ugapec-better",
        quote="1-privacy-UGapEc clearly outperforms 1-privacy-SER3 on stationary problems",
        where=WHERE,
        measured="samples of 1-privacy SER3 / samples of 1-privacy UGapEc",
        asked=f"above {CLEARLY}",
        cases=_on_both(slower, CLEARLY),
        across="problem",
    )


def _gain_grows(table: Table) -> Claim:
    def per_doubling(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        above, below = (
            np.log2(table.trials_by_players(v, "isolated", problem)) for v in (ser3, UGAPEC)
        )
        doublings = np.log2(np.array(table.players, dtype=np.float64))
        centred = doublings - doublings.mean()
        return (mean(100 * (2 ** ((above - below) @ centred / (centred @ centred)) - 1)),)

    return Claim(
        name="1-privacy-ugapec-gain-grows",
        quote="Moreover, the performance gain of 1-privacy-UGapEc increases with the number of "
        "players",
        where=WHERE,
        measured="change of samples of 1-privacy SER3 / samples of 1-privacy UGapEc with each "
        "doubling of N, in per cent",
        asked="above 0",
        cases=_on_both(per_doubling, 0.0),
        across="problem",
        note="Whether there is a gain at all is the row before.",
    )


def _decentralized(table: Table) -> Claim:
    def faster(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return compared(table, (UGAPEC, "decentralized", problem), (ser3, "decentralized", problem))

    return Claim(
        name="decentralized-ser3-better",
        quote="Decentralized SER3 clearly outperforms Decentralized UGapEc",
        where=WHERE,
        measured="samples of Decentralized UGapEc / samples of Decentralized SER3",
        asked=f"above {CLEARLY}",
        cases=_on_both(faster, CLEARLY),
        across="problem",
    )
