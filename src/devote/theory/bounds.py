"""The probability of a wrong answer under each protocol, with what each number rests on.

The one place for it: the command line, the audit and the page all show these rows.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from devote.kernels.votes import jury_failure
from devote.theory.arguments import open_unit, whole
from devote.theory.failure import claimed_failure, vote_failure
from devote.theory.property_1 import LoneFailure

BoundName: TypeAlias = Literal["claimed", "if one arm is good", "proved"]

SAYS_NOTHING = 0.99
"""A bound above this is not shown: it tells nobody anything."""


@dataclass(frozen=True)
class Bound:
    """A probability of a wrong answer, what it is called, and the sentence to tell a person.

    ``if one arm is good`` is proved where exactly one arm is epsilon-optimal; elsewhere it is
    no bound.
    """

    name: BoundName
    value: float
    text: str


@dataclass(frozen=True)
class Vote:
    """What a bound of the vote depends on.

    ``alone`` is what is proved of one player that runs ``algorithm``; ``good`` the number of
    epsilon-optimal arms, None where it is not known. ``broken`` says which assumption of the
    proofs does not hold; empty where all do.
    """

    algorithm: str
    alone: LoneFailure
    good: int | None = None
    broken: str = ""

    @property
    def unproved(self) -> str:
        """Why no proof applies; empty where one does."""
        alone = "" if self.alone.bound is not None else f"{self.algorithm} alone: {self.alone.why}"
        return alone or self.broken


def failure_bounds(
    protocol: str,
    vote: Vote,
    *,
    eta: float,
    delta: float,
    n_arms: int,
    n_players: int,
    voters: int,
    absent: int = 0,
) -> tuple[Bound, ...]:
    """What can be said of a wrong answer, the boldest first and the soundest last.

    ``voters`` is the quorum, or the size of the jury of whom ``absent`` may vanish.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote an arm out (errata 7 and 19); the jury is ours.

    >>> common = {"eta": 0.9, "delta": 0.05, "n_arms": 10}
    >>> vote = Vote("naive", LoneFailure("proved", 0.0405, "Hoeffding", 0.0405), good=1)
    >>> rows = failure_bounds("decentralized", vote, n_players=64, voters=28, **common)
    >>> [(row.name, f"{row.value:.2g}") for row in rows]
    [('claimed', '0.052'), ('proved', '2.7e-22')]
    >>> [row] = failure_bounds("jury", vote, n_players=64, voters=29, **common)
    >>> row.name, round(row.value, 4)
    ('proved', 0.0471)
    """
    open_unit("eta", eta)
    whole("n_players", n_players, least=0)
    if protocol == "decentralized":
        return _quorum(eta, whole("voters", voters, least=1), n_players, vote)
    unproved = vote.unproved
    if protocol == "jury":
        size = whole("voters", voters, least=1)
        return (_jury(jury_failure(size, eta, (n_arms - 1) * absent), size, unproved),)
    text = "No vote is taken: the subroutine's own guarantee, "
    if unproved:
        return (Bound("claimed", delta, f"{text}which is not proved here: {unproved}."),)
    return (Bound("proved", delta, f"{text}which is proved."),)


def _jury(value: float, size: int, unproved: str) -> Bound:
    text = f"A jury of {size} fixed devices, seated by activity alone, throws out every good arm "
    if unproved:
        return Bound(
            "claimed",
            value,
            f"{text}with at most this probability if each is wrong no more often than eta, which "
            f"is not proved here: {unproved}.",
        )
    return Bound(
        "proved",
        value,
        f"{text}with at most this probability (Theorem J), as long as rewards do not change and "
        "pay all devices alike.",
    )


def _quorum(eta: float, votes: int, n_players: int, vote: Vote) -> tuple[Bound, ...]:
    claim = (
        f"What the paper prints: eta to the power of {votes}. It holds for {votes} devices chosen "
        "beforehand."
    )
    claimed = Bound("claimed", claimed_failure(eta, votes), claim)
    if n_players < votes:
        return (claimed,)
    if n_players == votes and vote.alone.bound is not None and not vote.broken:
        value = vote_failure(n_players, lone=min(1.0, vote.alone.bound), quorum=votes)
        text = f"Here all {votes} must be wrong together: the claim holds, and more."
        return (claimed, Bound("proved", value, text))
    lone = vote.alone.wrong_vote
    if vote.broken or lone is None:
        why = vote.broken or f"{vote.algorithm}: {vote.alone.why}"
        return (replace(claimed, text=f"{claim} Nothing is proved here: {why}."),)
    value = vote_failure(n_players, lone=min(1.0, lone), quorum=votes)
    text = (
        f"Any {votes} of {n_players} can throw an arm out, and one device votes against the only "
        f"good arm with probability at most {lone:.2g}"
    )
    if value > SAYS_NOTHING:
        text += ": too much for a bound on the vote. Use a jury, or another subroutine."
        return (replace(claimed, text=f"{claim} {text}"),)
    if vote.good == 1:
        return (claimed, Bound("proved", value, f"{text}: this bound follows."))
    text += ": this bound follows, where one arm alone is good."
    if vote.good is not None:
        text += f" Here {vote.good} arms are good, which it does not cover."
    text += " With several good arms use a jury."
    return (claimed, Bound("if one arm is good", value, text))
