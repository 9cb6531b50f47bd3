"""Trials of one scenario side by side: each count, ending and judgement a column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.protocol import RunStatus
from devote.simulator.trial import NEVER, STATUSES, Event, Record, Trial

COUNTS = tuple(item.name for item in fields(Trial) if item.type is int)
JUDGEMENTS = tuple(item.name for item in fields(Trial) if item.type is bool)
TABLES = {"left": np.int32, "first_vote": np.int32, "player_answers": np.int32}
"""The columns with a row per trial."""

KINDS: dict[str, Any] = {
    **dict.fromkeys(COUNTS, np.int64),
    **dict.fromkeys(JUDGEMENTS, np.bool_),
    "ending": np.int8,
    **TABLES,
}
"""The kind of number of each column."""


@dataclass(frozen=True, eq=False, repr=False)
class Block(Sequence[Trial]):
    """Some trials by column; names are those of ``Trial``, which describes them.

    ``ending[i]`` is the place of trial i's status in ``STATUSES``. ``left[i]`` has the arms still
    standing, the likeliest first, then -1 up to the number of arms. ``first_vote[i, n]`` and
    ``player_answers[i, n]`` are about player n; the latter has no columns where players share the
    answer of the group. ``traces`` and ``records`` hold None for trials that were run without.
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
    first_vote: NDArray[np.int32]
    player_answers: NDArray[np.int32]
    traces: tuple[tuple[Event, ...] | None, ...]
    records: tuple[Record | None, ...]

    @classmethod
    def from_trials(cls, runs: Sequence[Trial], n_arms: int, n_players: int) -> "Block":
        """The columns of trials."""
        n = len(runs)
        left = np.full((n, n_arms), NEVER)
        for row, run in zip(left, runs, strict=True):
            row[: len(run.winners)] = run.winners
        n_answers = len(runs[0].player_answers) if runs else 0
        values: dict[str, Any] = {
            name: [getattr(run, name) for run in runs] for name in (*COUNTS, *JUDGEMENTS)
        }
        values |= {
            "ending": [STATUSES.index(run.status) for run in runs],
            "left": left,
            "first_vote": np.reshape([run.first_vote for run in runs], (n, n_players)),
            "player_answers": np.reshape([run.player_answers for run in runs], (n, n_answers)),
        }
        return cls(
            **{name: np.array(values[name], dtype=kind) for name, kind in KINDS.items()},
            traces=tuple(run.trace for run in runs),
            records=tuple(run.record for run in runs),
        )

    @classmethod
    def join(cls, blocks: Sequence["Block"]) -> "Block":
        """One block after another."""
        blocks = [one for one in blocks if len(one)] or blocks[:1]
        if len(blocks) == 1:  # no copy: a million players have megabytes of answers
            return blocks[0]
        return Block(
            **{name: np.concatenate([getattr(one, name) for one in blocks]) for name in KINDS},
            traces=tuple(chain.from_iterable(one.traces for one in blocks)),
            records=tuple(chain.from_iterable(one.records for one in blocks)),
        )

    def take(self, places: NDArray[np.int64]) -> "Block":
        """The trials at these places, in this order."""
        return Block(
            **{name: getattr(self, name)[places] for name in KINDS},
            traces=tuple(self.traces[i] for i in places),
            records=tuple(self.records[i] for i in places),
        )

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: Any) -> Any:
        """A trial; for a slice, a block."""
        if isinstance(i, slice):
            return self.take(np.arange(len(self))[i])
        i = range(len(self))[i]
        return Trial(
            **{name: getattr(self, name)[i].item() for name in (*COUNTS, *JUDGEMENTS)},
            status=STATUSES[self.ending[i]],
            winners=self.winners[i],
            first_vote=tuple(self.first_vote[i].tolist()),
            player_answers=tuple(self.player_answers[i].tolist()),
            trace=self.traces[i],
            record=self.records[i],
        )

    def __iter__(self) -> Iterator[Trial]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def status(self) -> tuple[RunStatus, ...]:
        """How each trial ended."""
        return tuple(map(STATUSES.__getitem__, self.ending.tolist()))

    @cached_property
    def winners(self) -> tuple[tuple[int, ...], ...]:
        """The arms still standing at the end of each trial, the likeliest first."""
        return tuple(tuple(k for k in arms if k != NEVER) for arms in self.left.tolist())

    @property
    def decided(self) -> NDArray[np.int64]:
        """``samples`` of the trials in which the group had an answer."""
        return np.asarray(self.samples[self.samples != NEVER])

    def ended(self, status: RunStatus) -> NDArray[np.bool_]:
        """Which trials ended in this way."""
        return np.asarray(self.ending == STATUSES.index(status))

    def leaves(self, arm: int) -> NDArray[np.bool_]:
        """In which trials the arm is among those still standing."""
        return np.asarray((self.left == arm).any(axis=1))
