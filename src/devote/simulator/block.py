"""Trials of one scenario side by side: each count, ending and judgement a column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.protocol import RunStatus
from devote.simulator.trial import NEVER, STATUSES, Event, Record, Trial
from devote.simulator.votes import Votes

COUNTS = tuple(item.name for item in fields(Trial) if item.type is int)
JUDGEMENTS = tuple(item.name for item in fields(Trial) if item.type is bool)
ENDS = ("ending", "left")
"""The columns that say how trials ended."""


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """What each trial came to, as in ``Trial``.

    ``ending[i]`` is the place of trial i's status in ``STATUSES``, ``left[i]`` has the arms still
    standing, the likeliest first, then -1 up to the number of arms. ``status``, ``winners`` and
    ``first_vote`` are made of ``ending``, ``left`` and ``votes`` when they are asked for.
    """

    samples: NDArray[np.int64]
    samples_until_all_know: NDArray[np.int64]
    broadcasts: NDArray[np.int64]
    deliveries: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    resets: NDArray[np.int64]
    suboptimal_plays: NDArray[np.int64]
    epsilon_optimal: NDArray[np.bool_]
    holds_epsilon_optimal: NDArray[np.bool_]
    ending: NDArray[np.int8]
    left: NDArray[np.int32]
    votes: Votes

    @cached_property
    def status(self) -> tuple[RunStatus, ...]:
        """How each trial ended."""
        return tuple(map(STATUSES.__getitem__, self.ending.tolist()))

    @cached_property
    def winners(self) -> tuple[tuple[int, ...], ...]:
        """The arms still standing at the end of each trial, the likeliest first."""
        sizes = (self.left != NEVER).sum(axis=1).tolist()
        return tuple(tuple(arms[:n]) for arms, n in zip(self.left.tolist(), sizes, strict=True))

    @property
    def first_vote(self) -> NDArray[np.int32]:
        """``[i, n]``: player n's pulls at its first message about an arm in trial i, or -1."""
        return self.votes.dense

    def ended(self, status: RunStatus) -> NDArray[np.bool_]:
        """Which trials ended in this way."""
        return np.asarray(self.ending == STATUSES.index(status))

    def leaves(self, arm: int) -> NDArray[np.bool_]:
        """In which trials the arm is among those still standing."""
        return np.asarray((self.left == arm).any(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Block(Columns, Sequence[Trial]):
    """Some trials; each of them can be had as a ``Trial``."""

    traces: tuple[tuple[Event, ...] | None, ...] | None = None
    records: tuple[Record | None, ...] | None = None

    @classmethod
    def of(cls, runs: Sequence[Trial], n_arms: int, n_players: int) -> "Block":
        """The columns of trials."""
        columns: dict[str, Any] = {
            name: np.array([getattr(run, name) for run in runs], dtype=kind)
            for names, kind in ((COUNTS, np.int64), (JUDGEMENTS, np.bool_))
            for name in names
        }
        ending, left = ends([run.status for run in runs], [run.winners for run in runs], n_arms)
        first = np.array([run.first_vote for run in runs], dtype=np.int32)
        return cls(
            **columns,
            ending=ending,
            left=left,
            votes=Votes.of(first.reshape(len(runs), n_players)),
            traces=_if_any([run.trace for run in runs]),
            records=_if_any([run.record for run in runs]),
        )

    @classmethod
    def join(cls, blocks: Sequence["Block"]) -> "Block":
        """One block after another."""
        if len(blocks) == 1:
            return blocks[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in (*COUNTS, *JUDGEMENTS, *ENDS)
        }
        return cls(
            **columns,
            votes=Votes.join([block.votes for block in blocks]),
            traces=_join([block.traces for block in blocks], blocks),
            records=_join([block.records for block in blocks], blocks),
        )

    def take(self, places: NDArray[np.int64]) -> "Block":
        """The trials at these places, in this order."""
        if np.array_equal(places, np.arange(len(self))):
            return self
        columns: dict[str, Any] = {
            name: getattr(self, name)[places] for name in (*COUNTS, *JUDGEMENTS, *ENDS)
        }
        traces, records = (
            None if kept is None else tuple(kept[i] for i in places.tolist())
            for kept in (self.traces, self.records)
        )
        return Block(**columns, votes=self.votes.take(places), traces=traces, records=records)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: Any) -> Any:
        """A trial; for a slice, a block."""
        if isinstance(i, slice):
            return self.take(np.arange(len(self))[i])
        i = range(len(self))[i]
        arms = self.left[i]
        return Trial(
            **{name: getattr(self, name)[i].item() for name in (*COUNTS, *JUDGEMENTS)},
            status=STATUSES[self.ending[i]],
            winners=tuple(arms[arms != NEVER].tolist()),
            first_vote=self.votes.row(i),
            trace=None if self.traces is None else self.traces[i],
            record=None if self.records is None else self.records[i],
        )

    def __iter__(self) -> Iterator[Trial]:
        return (self[i] for i in range(len(self)))


def ends(
    statuses: Sequence[str], winners: Sequence[Sequence[int]], n_arms: int
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """The columns ``ending`` and ``left`` of trials given one by one."""
    left = np.full((len(winners), n_arms), NEVER, dtype=np.int32)
    for i, arms in enumerate(winners):
        left[i, : len(arms)] = arms
    return np.array([STATUSES.index(one) for one in statuses], dtype=np.int8), left


def _if_any(kept: list[Any]) -> Any:
    """What is kept of each trial, None if nothing is of any."""
    return tuple(kept) if any(one is not None for one in kept) else None


def _join(kept: list[Any], blocks: Sequence[Block]) -> Any:
    """What some blocks keep of each trial, None for the trials of others."""
    if all(one is None for one in kept):
        return None
    pairs = zip(kept, blocks, strict=True)
    return tuple(item for one, block in pairs for item in one or (None,) * len(block))
