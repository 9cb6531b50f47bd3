"""Surveys with segments, compiled: thousands of runs, with shares and tastes that may change.

The learner and the sizes of the noise are those that ship. Who answers what, the queues and the
liars are written here, apart from the tally, the simulator and the devices.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from tests.rules.compiled import compiled

from devote.schemes.survey.segment_learner import (
    PAIRS,
    Segments,
    asks_about,
    best_looking,
    make_bets,
    next_missing,
    take,
)
from devote.schemes.survey.signed_subsets import SignedSubsets, best_size

ROOM = 1 << 16
"""Answers that may wait in the queue of one arm of one segment."""


class Runs(NamedTuple):
    """What came of many runs."""

    answers: np.ndarray
    """Until all segments were decided, or as many as were allowed."""
    winners: np.ndarray
    """Runs x segments: the segment's arm, -1 while it is undecided."""
    decided: np.ndarray
    """Runs x segments: after how many answers."""
    returns: np.ndarray
    """How often a segment asked about an arm again after it had not asked about it."""


def array_segments(n_segments, n_arms):
    """As ``new_segments``, in arrays."""
    rows = n_segments * n_arms
    return Segments(
        alive=np.ones(rows, np.int8),
        settled=np.zeros(rows * n_arms, np.int8),
        counts=np.zeros(rows * n_arms * PAIRS, np.int32),
        signs=np.zeros(rows, np.int8),
        sums=np.zeros(rows, np.int64),
        pulls=np.zeros(rows, np.int64),
        leader=np.zeros(n_segments, np.int32),
        rounds=np.zeros(n_segments, np.int64),
        judged=np.zeros(n_segments, np.int64),
        decided=np.zeros(n_segments, np.int8),
    )


def play_segments(
    means,
    shares,
    *,
    epsilon,
    delta,
    runs,
    privacy=None,
    size=None,
    liars=0,
    lies=0,
    cycle=0,
    most=10**8,
    seed=1,
):
    """Run surveys in which segment z has mean ``means[z][k]`` for arm k.

    ``lies``: so many of the first answers say of each segment they name that its best arm is bad
    and the others good. ``cycle``: the shares are turned around every so many answers.
    """
    means = np.array(means, float)
    n_segments, n_arms = means.shape
    size = size or best_size(n_segments, privacy, epsilon)
    subsets = SignedSubsets.of(n_segments, size, privacy)
    bets = make_bets(subsets, n_arms=n_arms, epsilon=epsilon, delta=delta, liars=liars)
    bets = bets._replace(**{name: np.array(getattr(bets, name)) for name in bets._fields[3:]})
    own, other = subsets.probabilities
    out = Runs(
        np.zeros(runs, np.int64),
        np.full((runs, n_segments), -1),
        np.zeros((runs, n_segments), np.int64),
        np.zeros(runs, np.int64),
    )
    upto = np.cumsum(np.array(shares, float) / np.sum(shares))
    upto[-1] = 1.0
    settings = (own, other, size, lies, cycle, most, seed)
    queues = np.zeros((n_segments * n_arms, ROOM), np.int8)
    ends = np.zeros((2, n_segments * n_arms), np.int64)
    signs = np.zeros(n_segments, np.int8)
    asked = np.zeros(n_arms, np.int64)
    paused = np.zeros(n_segments * n_arms, np.int8)
    _loop()(
        bets,
        array_segments(n_segments, n_arms),
        means,
        upto,
        settings,
        queues,
        ends,
        signs,
        asked,
        paused,
        out,
    )
    return out


@cache
def _loop():
    @compiled
    def surveys(bets, segments, means, upto, settings, queues, ends, signs, asked, paused, out):
        own, other, size, lies, cycle, most, seed = settings
        np.random.seed(seed)
        n_segments, n_arms = bets.n_segments, bets.n_arms
        best = np.int64(0)
        for run in range(len(out.answers)):
            for i in range(len(segments.counts)):
                segments.counts[i] = 0
            for i in range(len(segments.settled)):
                segments.settled[i] = 0
            for i in range(n_segments * n_arms):
                segments.alive[i], segments.signs[i] = 1, 0
                segments.sums[i], segments.pulls[i] = 0, 0
                ends[0, i], ends[1, i], paused[i] = 0, 0, 0
            for z in range(n_segments):
                segments.leader[z], segments.rounds[z] = 0, 0
                segments.judged[z], segments.decided[z] = 0, 0
            n, undecided = 0, n_segments
            while undecided > 0 and n < most:
                n_asked = 0
                for k in range(n_arms):
                    for z in range(n_segments):
                        if asks_about(bets, segments, z, k):
                            asked[n_asked] = k
                            n_asked += 1
                            break
                arm = asked[int(np.random.random() * n_asked)]
                n += 1
                u, segment = np.random.random(), 0
                while u >= upto[segment]:
                    segment += 1
                if cycle > 0 and (n // cycle) % 2 == 1:
                    segment = n_segments - 1 - segment
                if n <= lies:
                    for z in range(n_segments):
                        signs[z] = 0
                    for i in range(size):
                        z = (n + i) % n_segments
                        best = 0
                        for k in range(n_arms):
                            if means[z, k] > means[z, best]:
                                best = k
                        signs[z] = -1 if arm == best else 1
                else:
                    u = np.random.random()
                    bit = 1 if np.random.random() < means[segment, arm] else -1
                    mine = bit if u < own else (-bit if u < own + other else 0)
                    left = size if mine == 0 else size - 1
                    pool = n_segments - 1
                    for z in range(n_segments):
                        if z == segment:
                            signs[z] = mine
                            continue
                        signs[z] = 0
                        if np.random.random() * pool < left:
                            signs[z] = 1 if np.random.random() < 0.5 else -1
                            left -= 1
                        pool -= 1
                for z in range(n_segments):
                    if not asks_about(bets, segments, z, arm):
                        continue
                    at = z * n_arms + arm
                    queues[at, ends[1, at] % ROOM] = signs[z]
                    ends[1, at] += 1
                    if ends[1, at] - ends[0, at] > ROOM:
                        out.answers[run] = -1
                        return
                    while True:
                        lacks = next_missing(bets, segments, z)
                        if lacks < 0:
                            out.winners[run, z] = best_looking(bets, segments, z)
                            out.decided[run, z] = n
                            undecided -= 1
                            break
                        at = z * n_arms + lacks
                        if ends[0, at] == ends[1, at]:
                            break
                        ends[0, at] += 1
                        before = segments.judged[z]
                        take(bets, segments, z, lacks, queues[at, (ends[0, at] - 1) % ROOM])
                        if segments.judged[z] > before:
                            for k in range(n_arms):
                                i = z * n_arms + k
                                if not asks_about(bets, segments, z, k):
                                    ends[0, i], paused[i] = ends[1, i], 1
                                elif paused[i]:
                                    out.returns[run] += 1
                                    paused[i] = 0
            out.answers[run] = n

    return surveys
