"""Whose votes problem 2 waits for, with 32 players and with 64."""

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, mean_count
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import SUBROUTINES, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"


def waiting_claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _row(
            table,
            settings,
            name="waits-for-rare-players",
            quote="In Problem 2 with 32 players, it means that the algorithm has to wait for "
            "infrequent players votes to terminate.",
            n_players=32,
            asked=("above 1", Range(low=1.0)),
        ),
        _row(
            table,
            settings,
            name="no-wait-with-64",
            quote="When the number of players is 64, this issue disappears.",
            n_players=64,
            asked=("below 1", Range(high=1.0)),
        ),
    ]


def _row(
    table: Table,
    settings: Settings,
    *,
    name: str,
    quote: str,
    n_players: int,
    asked: tuple[str, Range],
) -> Claim:
    words, wanted = asked

    def rare_voters(variant: Variant) -> tuple[Estimate, ...]:
        if n_players not in settings.players:
            return ()
        result = table[variant.cell("2", "decentralized", n_players)]
        weights = np.array(result.problem.activity.weights(n_players))
        rare = weights < weights.max()
        voters = (result.first_vote[:, rare] >= 0).sum(axis=1)
        return (mean_count(voters, most=float(rare.sum())),)

    return Claim(
        name=name,
        quote=quote,
        where=WHERE,
        measured=f"infrequent players who vote before the end, with {n_players} players",
        asked=f"{words}, a run",
        cases=tuple(
            Case(label, rare_voters(v), wanted, v.form) for label, v in SUBROUTINES.items()
        ),
        across="subroutine",
        over_players=False,
    )
