"""Surveys with betting, compiled: thousands of runs in a second, with liars who aim well.

Written apart from the tally, from the simulator and from the compiled loop of a survey: the rule is
the one that ships; the queues, what devices know of the tally, and the liars are written here.
"""

from enum import IntEnum
from functools import cache

import numpy as np
from tests.rules.compiled import array_state, compiled

from devote.rules import COUNT, get_algorithm, start
from devote.rules.betting import LEADER, is_proved, rounds_at, wins_at
from devote.rules.randomizer import GRID, truthful

BETTING = get_algorithm("betting")
ROOM = 1 << 15
"""Answers about an arm that may wait."""

WORTH = 1.5
"""A reader of queues lies where a lie moves more than so many bits; a bit of its own moves one."""


class Lies(IntEnum):
    """Where lies go. Arm 0 is the best; they help the last arm, which is not good."""

    FIRST = 0  # first in the queues: half for the bad arm, half against the best
    ONE_ARM = 1  # all for the bad arm, first in its queue
    SPLIT = 2  # first in the queues, in turn: for each arm that is not good, against each good one
    LEADER = 3  # in the leader's queue: for it if it is not good, against it if it is
    LAST = 4  # for the bad arm and against the best, once those that are left will do
    READER = 5  # where they have answers that wait thrown away or kept, as it suits; else LAST


def bit_chances(means, privacy=None):
    """How often a bit about each arm is 1, and the share of a gap that the noise leaves."""
    slope = 1.0 if privacy is None else (2 * truthful(privacy, 2) - GRID) / GRID
    return [(1.0 - slope) / 2.0 + slope * mean for mean in means], slope


def play_surveys(
    means,
    *,
    epsilon,
    delta,
    runs,
    privacy=None,
    liars=0,
    lies=0,
    how=Lies.FIRST,
    stale=0,
    longest=0,
    most=10**9,
    seed=1,
):
    """The arm that each run ends with (-1: none within ``most`` answers), and its answers.

    ``liars`` is what the rule tolerates, ``lies`` how many there are. ``stale``: devices read the
    tally every so many answers. ``longest``: somebody delays answers so that up to so many about
    the best and the bad arm wait before one comes that the learner waits for.
    """
    chances, slope = bit_chances(means, privacy)
    n_arms, n_good = len(means), sum(mean >= max(means) - epsilon for mean in means)
    assert list(means) == sorted(means, reverse=True)
    rule = BETTING.rule(n_arms=n_arms, epsilon=epsilon * slope, eta=delta, liars=liars)
    real, spare = array_state(BETTING, n_arms), array_state(BETTING, n_arms)
    queues, rows = np.zeros((n_arms, ROOM), np.int8), np.zeros((7, n_arms), np.int64)
    answers, winners = np.zeros((2, runs), np.int64)
    settings = (n_good, int(how), lies, stale, longest, most, seed)
    out = np.zeros(n_arms, np.int32)
    _loop()(rule, real, spare, np.array(chances), settings, queues, rows, out, winners, answers)
    assert winners.min() >= -1, "more answers wait than there is room for"
    return winners, answers


@cache
def _loop():
    choose, observe, asks = BETTING.choose, BETTING.observe, BETTING.asks

    @compiled
    def surveys(rule, real, spare, chances, settings, queues, rows, out, winners, answers):
        n_good, how, n_lies, stale, longest, most, seed = settings
        np.random.seed(seed)
        n_arms, bad = rule.n_arms, rule.n_arms - 1
        told = rows[6]
        for run in range(len(winners)):
            for k in range(n_arms):
                # Where each queue begins, how long it is, and whether the arm is asked about:
                # first as it is, then as it would be.
                for word in range(6):
                    rows[word, k] = 0
                rows[2, k] = 1
            start(real)
            left, n, wanted, wanted_then = n_lies, 0, -1, -1
            winner = -1
            while winner == -1 and n < most:
                now, best_move, worth = 0.0, -1, WORTH
                first = 2 * n_arms
                if how == 5 and left > 0:
                    first = -1  # try out what each lie would do, on a copy
                for move in range(first, 2 * n_arms + 1):
                    is_real = move == 2 * n_arms
                    at, state = 0, real
                    if not is_real:
                        at, state = 3, spare
                        for k in range(n_arms):
                            spare.alive[k], spare.pulls[k] = real.alive[k], real.pulls[k]
                            spare.sums[k] = real.sums[k]
                            for word in range(3):
                                rows[3 + word, k] = rows[word, k]
                        for i in range(len(real.ints)):
                            spare.ints[i] = real.ints[i]
                        wanted_then = wanted
                        arm, bit = move // 2, move % 2
                        if move >= 0 and not rows[2, arm]:
                            continue
                    elif best_move >= 0:
                        arm, bit = best_move // 2, best_move % 2
                        left -= 1
                    else:
                        arm, leader = -1, real.ints[LEADER] - 1
                        if left > 0 and how <= 2:
                            arm = bad
                            if how == 0 and left % 2 == 0:
                                arm = 0
                            elif how == 2:
                                arm = left % n_arms
                        elif left > 0 and how == 3:
                            if leader >= 0 and rows[2, leader] and rows[1, leader] == 0:
                                arm = leader
                        elif left > 0 and rows[2, 0] and rows[2, bad]:
                            wins = real.ints[wins_at(n_arms, bad, 0)]
                            losses = real.ints[wins_at(n_arms, 0, bad)]
                            rounds = real.ints[rounds_at(n_arms, bad, 0)]
                            if is_proved(rule, wins + left, losses, rounds + left, rule.epsilon):
                                arm = bad if left % 2 else 0
                        if arm >= 0:
                            bit = 0 if arm < n_good else 1
                            left -= 1
                        else:
                            if stale == 0 or n % stale == 0:
                                for k in range(n_arms):
                                    told[k] = rows[2, k]
                            n_told = 0
                            for k in range(n_arms):
                                n_told += told[k]
                            place = int(np.random.random() * n_told)
                            for k in range(n_arms):
                                if told[k]:
                                    if place == 0:
                                        arm = k
                                    place -= 1
                            if longest > 0 and wanted >= 0:
                                arm = wanted
                                for k in (0, bad):
                                    if k != wanted and rows[2, k] and rows[1, k] < longest:
                                        arm = k
                            bit = 1 if np.random.random() < chances[arm] else 0
                    if is_real:
                        n += 1
                    # The board takes the answer and feeds the learner.
                    if arm >= 0 and rows[at + 2, arm]:
                        if rows[1, arm] == queues.shape[1] - 1:
                            winner = -2
                            break
                        end = (rows[at, arm] + rows[at + 1, arm]) % queues.shape[1]
                        queues[arm, end] = bit
                        rows[at + 1, arm] += 1
                        while state.ints[COUNT] > 1:
                            want = wanted if is_real else wanted_then
                            if want < 0:
                                want = choose(rule, state, 0.5)
                            if rows[at + 1, want] == 0:
                                if is_real:
                                    wanted = want
                                break
                            taken = queues[want, rows[at, want] % queues.shape[1]]
                            rows[at, want] += 1
                            rows[at + 1, want] -= 1
                            observe(rule, state, want, float(taken), out)
                            wanted_then = -1
                            if is_real:
                                wanted = -1
                            for k in range(n_arms):
                                rows[at + 2, k] = 1 if asks(rule, state, k) else 0
                                if not rows[at + 2, k]:
                                    rows[at + 1, k] = 0
                    if is_real:
                        if state.ints[COUNT] == 1:
                            for k in range(n_arms):
                                if state.alive[k]:
                                    winner = k
                        continue
                    # What is won for the bad arm against the best, with the bits that wait.
                    ahead = 0.0
                    if not state.alive[bad]:
                        ahead = -1e9
                    elif not state.alive[0]:
                        ahead = 1e9
                    else:
                        ahead += state.ints[wins_at(n_arms, bad, 0)]
                        ahead -= state.ints[wins_at(n_arms, 0, bad)]
                        if rows[at + 2, 0] and rows[at + 2, bad]:
                            for i in range(rows[at + 1, bad]):
                                place = (rows[at, bad] + i) % queues.shape[1]
                                ahead += queues[bad, place] - chances[bad]
                            for i in range(rows[at + 1, 0]):
                                place = (rows[at, 0] + i) % queues.shape[1]
                                ahead -= queues[0, place] - chances[0]
                    if move < 0:
                        now = ahead
                    elif ahead - now > worth:
                        best_move, worth = move, ahead - now
            winners[run], answers[run] = winner, n

    return surveys
