"""What Theorem 1 says, judged; and the same sentence for the jury."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, proportion
from devote.studies.measuring import at_each
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.theorem_1.sweep import ALONE, DELTA, ETA, WORST, tied, worst, worst_jury
from devote.studies.verdicts import Case, Range
from devote.simulate.result import Result
from devote.theory import claimed_failure

WHERE = "Theorem 1"


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _failure(table, settings),
        _jury(table, settings),
        _stalls(table, settings),
        _privacy(table),
    ]


def lost(result: Result) -> Estimate:
    """How often the best arm, arm 0, is not among those left."""
    return proportion(0 not in arms for arms in result.winners)


def _failure(table: Table, settings: Settings) -> Claim:
    claimed = claimed_failure(ETA, WORST.votes_needed)
    return Claim(
        name="theorem-1-failure",
        quote="Decentralized Elimination finds an epsilon-optimal arm with a failure probability "
        "delta <= eta^M",
        where=f"{WHERE}, part 2 of its proof",
        measured="runs that lose the best of two arms when each subroutine fails with "
        "probability exactly eta, as Property 1 allows",
        asked=f"at most eta^M = {claimed:.4f}",
        cases=(
            Case(
                "decentralized",
                at_each(settings.players, lambda n: lost(table[worst("decentralized", n)])),
                Range(high=claimed),
            ),
        ),
        note="The proof counts M fixed players; any M of N can vote (erratum 7). It holds at "
        "N = M. What holds with a real subroutine is in docs/guarantees.md.",
    )


def _jury(table: Table, settings: Settings) -> Claim:
    return Claim(
        name="theorem-1-failure-of-a-jury",
        quote="A jury of ceil(log delta / log eta) players, seated by activity "
        "alone, loses every epsilon-optimal arm with probability at most delta",
        where="docs/proofs.md, Theorem J",
        measured="runs that lose the best of two arms under a jury of 3, when each subroutine "
        "fails with probability exactly eta = .25",
        asked=f"at most delta = {DELTA}",
        cases=(
            Case(
                "jury",
                at_each(settings.players, lambda n: lost(table[worst_jury(n)])),
                Range(high=DELTA),
            ),
        ),
        note="The exact value is .25^3 = .016 at every N; at eta = .9 it is .9^29 = .047.",
        uncounted="this project's own theorem",
    )


def _stalls(table: Table, settings: Settings) -> Claim:
    def agreed(n: int) -> Estimate:
        return proportion(status == "agreed" for status in table[tied(n)].status)

    return Claim(
        name="theorem-1-ends",
        quote="it exists a time such that for K-1 arms there are M voting players",
        where=f"{WHERE}, part 2 of its proof",
        measured="runs in which the vote came down to one arm, with two tied best arms",
        asked="more than half, at each number of players",
        cases=(Case("two tied arms", at_each(settings.players, agreed), Range(low=0.5)),),
        note="With N <= 2M - 2 a tie may split the players for good (errata 5 and 20).",
    )


def _privacy(table: Table) -> Claim:
    named = proportion(table[ALONE].epsilon_optimal.tolist()).located("one player's whole vote")
    return Claim(
        name="theorem-1-privacy",
        quote="the adversary cannot infer what arm is epsilon-optimal for player n with a "
        "probability higher than 1 - eta",
        where=f"Definition 3; {WHERE}, part 1 of its proof",
        measured="runs in which the one arm that a player has not voted against is epsilon-optimal",
        asked=f"at most 1 - eta = {1 - ETA:.1f}",
        cases=(Case("a player who votes to the end", (named,), Range(high=1 - ETA)),),
        along="player",
        over_players=False,
        note="The inequality runs the other way (erratum 8): at least 1 - eta.",
    )
