"""The probability of a wrong answer under each protocol, with what each number rests on.

The one place for it: the command line, the audit and the page all show these rows.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.kernels.votes import jury_failure
from devote.theory.arguments import open_unit, whole
from devote.theory.failure import claimed_failure, honest_failure

BoundName: TypeAlias = Literal["claimed", "honest", "proved"]


@dataclass(frozen=True)
class Bound:
    """A probability of a wrong answer, what it is called, and the sentence to tell a person.

    ``honest`` is no bound where several arms are good: it is what one good arm would give.
    """

    name: BoundName
    value: float
    text: str


def failure_bounds(
    protocol: str,
    *,
    eta: float,
    delta: float,
    n_arms: int,
    n_players: int,
    voters: int,
    absent: int = 0,
    unproved: str = "",
) -> tuple[Bound, ...]:
    """What can be said of a wrong answer, the boldest first and the soundest last.

    ``voters`` is the quorum, or the size of the jury of whom ``absent`` may vanish. ``unproved``
    says why the proofs do not apply, such as a subroutine without one; empty where they do.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote an arm out (erratum 7); the jury is ours.

    >>> common = {"eta": 0.9, "delta": 0.05, "n_arms": 10}
    >>> rows = failure_bounds("decentralized", n_players=64, voters=28, **common)
    >>> [(row.name, round(row.value, 4)) for row in rows]
    [('claimed', 0.0523), ('honest', 1.0)]
    >>> [row] = failure_bounds("jury", n_players=64, voters=29, **common)
    >>> row.name, round(row.value, 4)
    ('proved', 0.0471)
    """
    open_unit("eta", eta)
    whole("n_players", n_players, least=0)
    if protocol == "decentralized":
        return _quorum(eta, whole("voters", voters, least=1), n_players, unproved)
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


def _quorum(eta: float, votes: int, n_players: int, unproved: str) -> tuple[Bound, ...]:
    claimed = Bound(
        "claimed",
        claimed_failure(eta, votes),
        f"What the paper prints: eta to the power of {votes}. It holds for {votes} devices chosen "
        "beforehand.",
    )
    if n_players < votes:
        return (claimed,)
    value = honest_failure(n_players, eta=eta, quorum=votes)
    if n_players > votes:
        text = (
            f"Here any {votes} of {n_players} can throw an arm out: if each were wrong with "
            f"probability eta={eta:g} and one arm alone were good, the vote would fail with the "
            "honest probability, and with several good arms perhaps more often. Real subroutines "
            "are wrong far less often, and that, not the theorem, is why it works."
        )
        return (claimed, Bound("honest", value, text))
    text = f"Here all {votes} must be wrong together"
    if unproved:
        text += f", but that each is wrong no more often than eta is not proved: {unproved}."
        return (claimed, Bound("honest", value, text))
    return (claimed, Bound("proved", value, f"{text}: the claim holds."))
