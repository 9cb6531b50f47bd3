"""A survey with segments as a stream of answers, as ``answers`` has it without segments.

Answer after answer comes, each of a segment drawn by its share and about an arm that the public
tally asks about, until every segment has its answer. The noise and the queues are those of the
event loop (``parts.segments``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from devote.problems.activity import check
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes.survey.respondent import COIN
from devote.schemes.survey.segment_learner import Bets, Segments, new_segments
from devote.simulator.answers import NO_END, in_threads
from devote.simulator.compiling import compile_loop
from devote.simulator.parts.segments import Blur, add_answer, arrays, is_asked_about, write_signs
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


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
