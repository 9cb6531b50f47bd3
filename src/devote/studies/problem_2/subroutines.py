"""What section 5.2 says about UGapEc against SER3 on the two stationary problems."""

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, mean
from devote.studies.measuring import CLEARLY, compared
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import RADIUS_FORMS, UGAPEC
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"
STATIONARY = ("1", "2")


def subroutine_claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _outperforms(table, settings),
        _gain_grows(table, settings),
        _decentralized(table, settings),
    ]


def _outperforms(table: Table, settings: Settings) -> Claim:
    return Claim(
        name="1-privacy-ugapec-better",
        quote="1-privacy-UGapEc clearly outperforms 1-privacy-SER3 on stationary problems",
        where=WHERE,
        measured="samples of 1-privacy SER3 / samples of 1-privacy UGapEc",
        asked=f"above {CLEARLY}",
        cases=tuple(
            Case(
                f"problem {problem}, {form}",
                compared(
                    settings.players, table, (v, "isolated", problem), (UGAPEC, "isolated", problem)
                ),
                Range(low=CLEARLY),
                form,
            )
            for problem in STATIONARY
            for form, v in RADIUS_FORMS.items()
        ),
        across="problem",
    )


def _gain_grows(table: Table, settings: Settings) -> Claim:
    def per_doubling(form: str, problem: str) -> tuple[Estimate, ...]:
        if len(settings.players) < 2:
            return ()
        logs = [
            np.log2(table.trials_by_players(v, "isolated", problem, settings.players))
            for v in (RADIUS_FORMS[form], UGAPEC)
        ]
        doublings = np.log2(np.array(settings.players, dtype=np.float64))
        centred = doublings - doublings.mean()
        return (mean(100 * (2 ** ((logs[0] - logs[1]) @ centred / (centred @ centred)) - 1)),)

    return Claim(
        name="1-privacy-ugapec-gain-grows",
        quote="Moreover, the performance gain of 1-privacy-UGapEc increases with the number of "
        "players",
        where=WHERE,
        measured="change of samples of 1-privacy SER3 / samples of 1-privacy UGapEc with each "
        "doubling of N, in per cent",
        asked="above 0",
        cases=tuple(
            Case(f"problem {problem}, {form}", per_doubling(form, problem), Range(low=0.0), form)
            for problem in STATIONARY
            for form in RADIUS_FORMS
        ),
        across="problem",
        note="Whether there is a gain at all is the row before.",
    )


def _decentralized(table: Table, settings: Settings) -> Claim:
    return Claim(
        name="decentralized-ser3-better",
        quote="Decentralized SER3 clearly outperforms Decentralized UGapEc",
        where=WHERE,
        measured="samples of Decentralized UGapEc / samples of Decentralized SER3",
        asked=f"above {CLEARLY}",
        cases=tuple(
            Case(
                f"problem {problem}, {form}",
                compared(
                    settings.players,
                    table,
                    (UGAPEC, "decentralized", problem),
                    (v, "decentralized", problem),
                ),
                Range(low=CLEARLY),
                form,
            )
            for problem in STATIONARY
            for form, v in RADIUS_FORMS.items()
        ),
        across="problem",
    )
