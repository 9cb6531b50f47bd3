"""A survey with segments in the compiled simulator: a player's group is its segment.

The learner is that of ``schemes.survey.segment_learner``. The noise and the queues are written here
for compiled code: tests hold them against ``signed_subsets`` and ``segment_tally``. The signs of
the answers about an arm wait in one log for all segments, in which each segment has its own place
to read from.
"""

from typing import Any, NamedTuple

import numpy as np

from devote.protocol import ExperimentSpec
from devote.rules import State, split
from devote.rules.randomizer import GRID
from devote.schemes.survey.respondent import COIN
from devote.schemes.survey.scheme import Survey
from devote.schemes.survey.segment_learner import (
    PAIRS,
    Bets,
    Segments,
    asks_about,
    next_missing,
    take,
)
from devote.schemes.survey.signed_subsets import SignedSubsets
from devote.simulator.loop import record
from devote.simulator.part import Ending, Part, Subroutine
from devote.simulator.parts.survey import USED_UP
from devote.simulator.workspace import AGREED, EventView, Setup, Tables


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


ONE = Bets(1, 2, 0.0, [], [], [], [])
"""One segment, to lay out a row."""


class Constants(NamedTuple):
    """What the learners share, and the noise."""

    bets: Bets
    blur: Blur


class Words(NamedTuple):
    """What is kept of all segments: ``by_arm`` has it in one row, a stretch for each."""

    learners: Segments
    begin: Any
    """S x K: the next answer about the arm that the segment takes."""
    asked: Any
    """K: whether any segment asks about the arm."""


def constants(spec: ExperimentSpec, n_players: int) -> Constants:
    """The survey's parameters."""
    survey = spec.scheme
    assert isinstance(survey, Survey)
    return Constants(arrays(survey.bets(spec)), Blur.of(survey.subsets))


def n_words(bets: Bets) -> int:
    """How long the row is."""
    rows = bets.n_segments * bets.n_arms
    return rows * (5 + bets.n_arms * (1 + PAIRS)) + 4 * bets.n_segments + bets.n_arms


def words_of(bets: Bets, row: Any) -> Words:
    """The stretches of the row."""
    n, k = bets.n_segments, bets.n_arms
    a = 5 * n * k
    b = a + n * k * k
    c = b + n * k * k * PAIRS
    d = c + 4 * n
    learners = Segments(
        alive=row[: n * k],
        settled=row[a:b],
        counts=row[b:c],
        signs=row[n * k : 2 * n * k],
        sums=row[2 * n * k : 3 * n * k],
        pulls=row[3 * n * k : 4 * n * k],
        leader=row[c : c + n],
        rounds=row[c + n : c + 2 * n],
        judged=row[c + 2 * n : c + 3 * n],
        decided=row[c + 3 * n : d],
    )
    return Words(learners, row[4 * n * k : a], row[d : d + k])


def words_in(view: EventView) -> Words:
    """The same of a trial; at first all arms are asked about."""
    words = words_of(view.setup.scheme.bets, view.tables.by_arm[0])
    if view.trial.n_asked == 0:
        for i in range(len(words.learners.alive)):
            words.learners.alive[i] = 1
        for k in range(len(words.asked)):
            words.asked[k] = 1
        view.trial.n_asked = len(words.asked)
    return words


def leads(words: Words, z: int) -> int:
    """The arm that leads in a segment, or has won."""
    return max(0, words.learners.leader[z] - 1)


def is_asked(view: EventView, player: Any) -> bool:
    """Whether a player answers with this play."""
    return bool(view.trial.n_decided < view.setup.scheme.bets.n_segments and player.given == 0)


def learn_decision(
    setup: Setup, view: EventView, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """Learn of the decision about the player's segment."""
    segment = setup.env.groups[view.place]
    if words_in(view).learners.decided[segment] and not player.knows:
        player.knows = 1
        view.trial.holding += 1
    everybody = view.trial.holding == setup.n_players
    if everybody and view.trial.n_decided == setup.scheme.bets.n_segments:
        view.trial.ended = AGREED


def choose_arm(sub: Subroutine, view: EventView, state: State, player: Any, u: float) -> int:
    """An arm that is asked about, drawn uniformly; or the one that leads in the segment.

    That one is played by who has answered, and by who answers for a decided segment.
    """
    words, segment = words_in(view), view.setup.env.groups[view.place]
    if not is_asked(view, player):
        return leads(words, segment)
    place = int(u * view.trial.n_asked)
    for k in range(len(words.asked)):
        if words.asked[k]:
            if place == 0:
                view.trial.about = k
            place -= 1
    return leads(words, segment) if words.learners.decided[segment] else int(view.trial.about)


def answer(
    sub: Subroutine,
    view: EventView,
    state: State,
    player: Any,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """Answer, and feed the learners."""
    if not is_asked(view, player):
        return 0
    group, tables, words = view.trial, view.tables, words_in(view)
    bets, blur = view.setup.scheme
    segment, about, n = view.setup.env.groups[view.place], group.about, bets.n_segments
    given = COIN if words.learners.decided[segment] else reward
    signs = tables.voted[tables.tally[about], about * n : (about + 1) * n]
    write_signs(blur, segment, given, noise, signs)
    player.given = 1
    if player.first_vote < 0:
        player.first_vote = player.active
    record(view, group.time, about)
    if add_answer(bets, words.learners, tables.voted, words.begin, tables.tally, about):
        renew(bets, view, words)
    if group.n_decided < n and group.broadcasts >= view.setup.n_players:
        group.ended = USED_UP
    return 0


def renew(bets: Bets, view: EventView, words: Words) -> None:
    """Look up how segments stand, which arms they ask about, and which may still be an answer."""
    group, learners, n_arms = view.trial, words.learners, bets.n_arms
    group.n_decided = group.n_asked = group.n_shared = 0
    for z in range(bets.n_segments):
        group.n_decided += learners.decided[z]
    for k in range(n_arms):
        words.asked[k] = may_win = 0
        for z in range(bets.n_segments):
            if asks_about(bets, learners, z, k):
                words.asked[k] = 1
            if learners.decided[z]:
                may_win += learners.leader[z] == k + 1
            else:
                may_win += learners.alive[z * n_arms + k]
        group.n_asked += words.asked[k]
        if view.shared[k] and not may_win:
            view.shared[k] = 0
            group.pending = 1
        group.n_shared += view.shared[k]
    if group.n_decided == bets.n_segments and group.decided == 0:
        group.decided = group.time + 1
        group.n_asked = n_arms  # nobody is asked any more


def winners(end: Ending) -> list[int]:
    """The arms that may be the answer of a segment, those that lead in most first."""
    row, n_arms = end.by_arm[0], len(end.shared)
    n = (len(row) - n_arms) // (n_words(ONE._replace(n_arms=n_arms)) - n_arms)
    learners: Any = words_of(ONE._replace(n_segments=n, n_arms=n_arms), row).learners
    leaders = [max(0, leader - 1) for leader in learners.leader.tolist()]
    kept = [k for k in range(n_arms) if end.shared[k]]
    return sorted(kept, key=lambda k: -leaders.count(k))


def left_by_group(setup: Setup, tables: Tables) -> list[list[int]]:
    """The arms that may still be the answer of each segment: the answer once it is decided."""
    bets = setup.scheme.bets
    learners: Any = words_of(bets, tables.by_arm[0]).learners
    alive = learners.alive.reshape(bets.n_segments, bets.n_arms)
    return [
        [int(learners.leader[z]) - 1] if learners.decided[z] else np.flatnonzero(alive[z]).tolist()
        for z in range(bets.n_segments)
    ]


PART = Part(
    winners,
    wake=learn_decision,
    constants=constants,
    events=("elimination", "segmented_answer"),
    one_learner=True,
    play=choose_arm,
    take=answer,
    group=("n_asked", "n_decided", "about"),
    player=("given", "knows"),
    by_arm=lambda constants, n_arms: (1, n_words(constants.bets)),
    log_width=lambda constants, n_arms: n_arms * constants.bets.n_segments,
    keeps_log=True,
    left_by_group=left_by_group,
)
