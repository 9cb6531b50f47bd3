"""Messages as a board holds them, with signatures that a view does not check again."""

from collections.abc import Iterable

from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import to_json
from devote.schemes import Claim, Pick, Reset, Vote

SPEC = ExperimentSpec(arms=["red", "green", "blue"], name="banner", scheme={"quorum": 2})


def vote(voter: str, arm: int, term: int = 0) -> Vote:
    return Vote("banner", term, arm, voter)


def claim(voter: str) -> Claim:
    return Claim("banner", voter)


def pick(voter: str, arm: int) -> Pick:
    return Pick("banner", arm, voter)


def reset(voter: str, term: int) -> Reset:
    return Reset("banner", term, voter)


def rows(messages: Iterable[Message]) -> list[tuple[int, str, str]]:
    return [(n, to_json(message), f"{n:0128x}") for n, message in enumerate(messages, start=1)]


def ten_thousand(arms: int = 10) -> list[tuple[int, str, str]]:
    """A long board: a thousand voters against all arms but the first, and ten in vain."""
    voters = [f"{n:064x}" for n in range(1_112)]
    found = [vote(voter, arm) for voter in voters for arm in range(1, arms)]
    return rows(found[:10_000])
