"""A survey with segments in compiled code: the noise and the queues, and a stream of answers.

As in ``answers``, a stream is simulated without devices: answer after answer, each of a segment
drawn by its share and about an arm that the public tally asks about, until every segment has its
answer. The learner is that of ``schemes.survey.segment_learner``. The noise and the queues, which
the event loop uses too, are written here for compiled code: tests hold them against
``signed_subsets`` and ``segment_tally``.

The signs of the answers about an arm wait in one log for all segments, in which each segment has
its own place to read from.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from devote.problems.activity import check
from devote.protocol import ExperimentSpec, SpecError
from devote.rules import split
from devote.rules.randomizer import GRID
from devote.schemes.survey.respondent import COIN
from devote.schemes.survey.segment_learner import (
    Bets,
    Segments,
    asks_about,
    new_segments,
    next_missing,
    take,
)
from devote.schemes.survey.signed_subsets import SignedSubsets
from devote.simulator.answers import NO_END, in_threads
from devote.simulator.compiling import compile_loop
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


class Blur(NamedTuple):
    """``SignedSubsets`` for compiled code; ``values``: so many a number of random bits can have."""

    n_segments: int
    size: int
    own: int
    other: int
    absent: int
    values: int

    @classmethod
    def of(cls, subsets: SignedSubsets) -> "Blur":
        """The same numbers."""
        values = 1 << (subsets.n_segments - 1).bit_length()
        numbers = subsets.n_segments, subsets.size, subsets.own, subsets.other, subsets.absent
        return cls(*numbers, values)


def write_signs(blur: Blur, segment: int, reward: float, u: float, out: Any) -> None:
    """``draw_noise`` and ``signed_subset`` in one: a sign, or 0, for each segment.

    All that is random comes from one uniform, which is split as often as it takes.
    """
    draw, u = split(u)
    place = int(draw * GRID) - blur.absent
    for z in range(blur.n_segments):
        out[z] = 0
    drawn = 0 if blur.absent else blur.size
    while drawn < blur.size:
        draw, u = split(u)
        z = int(draw * blur.values)
        if z < blur.n_segments and z != segment and out[z] == 0:
            drawn += 1
            out[z] = drawn
    signs = 0
    for i in range(blur.size):
        draw, u = split(u)
        signs |= int(draw * 2.0) << i
    members = blur.size if place < 0 else blur.size - 1
    for z in range(blur.n_segments):
        i = int(out[z])  # the i-th to be drawn, from 1 on
        if i > 0:
            out[z] = 2 * ((signs >> (i - 1)) & 1) - 1 if i <= members else 0
    if place >= 0:
        is_one = place < blur.other + int(reward * (blur.own - blur.other))
        out[segment] = 1 if is_one else -1


def add_answer(bets: Bets, segments: Segments, log: Any, begin: Any, end: Any, arm: int) -> bool:
    """Hand each segment the answer about an arm that was written last; whether any was judged.

    Row ``i % len(log)`` of the log has the signs in answer i about each arm, ``arm * S + z``.
    ``end[arm]`` counts the answers about it; ``begin[z * K + arm]`` is the next one that segment z
    takes. Where it does not ask about the arm that is always the end: its queue is empty.
    """
    n_arms, is_judged = bets.n_arms, False
    for z in range(bets.n_segments):
        if not asks_about(bets, segments, z, arm):
            begin[z * n_arms + arm] = end[arm]
            continue
        lacks = next_missing(bets, segments, z)
        while lacks >= 0 and begin[z * n_arms + lacks] < end[lacks]:
            at = z * n_arms + lacks
            sign = log[begin[at] % len(log), lacks * bets.n_segments + z]
            begin[at] += 1
            judged = segments.judged[z]
            take(bets, segments, z, lacks, sign)
            if segments.judged[z] > judged:
                is_judged = True
                for k in range(n_arms):
                    if not asks_about(bets, segments, z, k):
                        begin[z * n_arms + k] = end[k]
            lacks = next_missing(bets, segments, z)
    return is_judged


def is_asked_about(bets: Bets, segments: Segments, arm: int) -> bool:
    """Whether any undecided segment asks about an arm."""
    n_asking = 0
    for z in range(bets.n_segments):
        n_asking += asks_about(bets, segments, z, arm)
    return n_asking > 0


def arrays(record: Any) -> Any:
    """A named tuple whose lists are arrays."""
    lists = {name: np.array(v) for name, v in record._asdict().items() if isinstance(v, list)}
    return record._replace(**lists)


@dataclass(frozen=True, eq=False)
class SegmentRuns:
    """What simulated surveys with segments came to, one place, or row, for each run.

    ``answers`` is how many had come when all segments were decided, or when the run was given up.
    ``winner[run, z]`` is the arm of segment z, -1 where it is undecided, and ``decided[run, z]``
    after how many answers it was decided.
    """

    answers: NDArray[np.int64]
    winner: NDArray[np.int64]
    decided: NDArray[np.int64]


def simulate_segments(
    spec: ExperimentSpec,
    means: Sequence[Sequence[float]],
    shares: Sequence[float],
    *,
    runs: int = 400,
    first: int = 0,
    seed: int = 0,
    most: int = NO_END,
    stale: int = 0,
    crowd: int = 0,
    lag: int = 0,
) -> SegmentRuns:
    """Runs of a survey in whose segment z, of so large a share, arms pay ``means[z]``.

    The other arguments are those of ``answers.simulate_answers``.

    >>> spec = ExperimentSpec(arms=2, scheme={"name": "survey", "segments": ["old", "new"]})
    >>> found = simulate_segments(spec, [[0.9, 0.1], [0.1, 0.9]], [0.5, 0.5], runs=3)
    >>> found.winner.tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    survey = cast("Survey", spec.scheme)
    n_segments, n_arms = len(survey.segments), spec.n_arms
    if not len(means) == len(shares) == n_segments:
        raise SpecError(
            f"{len(means)} rows of means and {len(shares)} shares for {n_segments} segments.\n"
            "Give one of each for every segment."
        )
    pays = np.array([check.units("means", row, length=n_arms) for row in means])
    upto = np.cumsum(shares) / math.fsum(shares)
    upto[-1] = 1.0
    bets, blur = arrays(survey.bets(spec)), Blur.of(survey.subsets)
    compiled = compile_loop(segmented_stream, {}, "segments", makes_arrays=True)
    limits = most, stale, crowd, lag

    def run(number: int) -> list[int]:
        """One run: its answers, the winners, and after how many answers each was decided."""
        rng = np.random.default_rng([seed, number])
        ends = np.zeros((2, n_segments), dtype=np.int64)
        ends[0] = NEVER
        learners = arrays(new_segments(n_segments, n_arms))
        n = compiled(bets, blur, pays, upto, rng, limits, learners, ends)
        return [n, *ends.ravel().tolist()]

    table = np.array(in_threads(run, first, runs), dtype=np.int64).reshape(runs, -1)
    return SegmentRuns(table[:, 0], table[:, 1 : 1 + n_segments], table[:, 1 + n_segments :])


def segmented_stream(
    bets: Bets,
    blur: Blur,
    means: Any,
    upto: Any,
    rng: Any,
    limits: Any,
    segments: Segments,
    ends: Any,
) -> int:
    """One run: how many answers came; ``ends`` gets the winners and when each was decided."""
    n_segments, n_arms = means.shape
    most, stale, crowd, lag = limits
    log = np.zeros((64, n_arms * n_segments), dtype=np.int8)
    begin = np.zeros(n_segments * n_arms, dtype=np.int64)
    end = np.zeros(n_arms, dtype=np.int64)
    seen = np.arange(n_arms)
    seen_decided = np.zeros(n_segments, dtype=np.int8)
    under_way = np.zeros((max(1, lag), n_segments + 1), dtype=np.int8)
    row = np.zeros(n_segments + 1, dtype=np.int8)
    n_seen, n_decided, drawn, answers, is_new = n_arms, 0, 0, 0, False
    while answers < most:
        if is_new and answers >= crowd and (stale == 0 or answers % stale == 0):
            n_seen = 0
            for k in range(n_arms):
                if is_asked_about(bets, segments, k):
                    seen[n_seen] = k
                    n_seen += 1
            for z in range(n_segments):
                seen_decided[z] = segments.decided[z]
            is_new = False
        arm = seen[int(rng.random() * n_seen)]
        segment = np.searchsorted(upto, rng.random(), side="right")
        reward = 1.0 if rng.random() < means[segment, arm] else 0.0
        if seen_decided[segment]:
            reward = COIN
        write_signs(blur, segment, reward, rng.random(), row)
        row[n_segments] = arm
        drawn += 1
        if lag > 0:
            for z in range(n_segments + 1):
                place = drawn % lag
                row[z], under_way[place, z] = under_way[place, z], row[z]
            arm = row[n_segments]
            if drawn <= lag:
                continue
        answers += 1
        waiting = 0
        for z in range(n_segments):
            waiting = max(waiting, end[arm] - begin[z * n_arms + arm])
        if waiting == len(log):
            log = np.concatenate((log, log))  # one of the two copies is read
        for z in range(n_segments):
            log[end[arm] % len(log), arm * n_segments + z] = row[z]
        end[arm] += 1
        if not add_answer(bets, segments, log, begin, end, arm):
            continue
        is_new = True
        for z in range(n_segments):
            if segments.decided[z] and ends[0, z] < 0:
                ends[0, z], ends[1, z] = segments.leader[z] - 1, answers
                n_decided += 1
        if n_decided == n_segments:
            break
    return answers
