"""One learner per segment: bets on pairs of arms, with answers that also hide who belongs to it.

What an answer says of segment z is its sign there, t = 1, -1 or 0. Its mean is the slope of the
noise times the share of z times (2 mu - 1), where mu is what the arm pays in z. ``g`` is what the
presence of z in the answer says of its share: its mean is the share. A round takes one answer of
each arm that z asks about. For two arms j and k in the same round the step

    D(c) = (t_j - t_k) / (2 slope) + c (g_j + g_k) / 2

has the mean share * (mu_j - mu_k + c). The unknown share only scales it, so it need not be known:
if j is worse than k by more than c, the mean is negative whatever the share is. The capital W(c),
a mean over stakes of the products of 1 + stake * D(c), is then a non-negative supermartingale. It
reaches the threshold S (K - 1) / delta with probability at most delta / (S (K - 1)).

The leader j of a segment is the arm with the highest mean sign among those that are left. Arm k is
**settled** against j once W(epsilon) has reached the threshold, and stays so. A settled arm is
**out** once W(0) has reached it too. The segment asks about its leader and the arms left that are
not settled against it, and is **decided** when there are none. An arm must be settled before it can
be out: otherwise a bad j would have two ways to be wrong and the proof would not hold, since W(0)
may exceed W(epsilon) here.

D takes nine values, so counts of the nine pairs of signs are all that is kept of the rounds.
Functions take buffers, as those of ``rules`` do: lists on a board, arrays where they are compiled.
The proof is in ``docs/proofs.md``.
"""

import math
from collections.abc import Container, MutableSequence, Sequence
from typing import NamedTuple

from devote.rules.randomizer import GRID
from devote.schemes.survey.signed_subsets import SignedSubsets

PAIRS = 9
"""Pairs of signs; the pair (a, b) is number ``3 (a + 1) + b + 1``."""

LARGEST_LOSS = 0.95
"""The largest share of the capital that one round may cost."""

JUDGED = 500
"""A segment is judged when its rounds have grown by one part in so many."""


class Bets(NamedTuple):
    """What stays the same: stakes and what each pair of signs does to the capital of each."""

    n_segments: int
    n_arms: int
    threshold: float
    """The logarithm of S (K - 1) / delta."""
    settling: Sequence[float]
    """``log(1 + stake * D(epsilon))``, nine for each stake."""
    dropping: Sequence[float]
    """``log(1 + stake * D(0))``, nine for each stake."""
    settling_cost: Sequence[float]
    """What the lies that are allowed can have added, for each stake."""
    dropping_cost: Sequence[float]


class Segments(NamedTuple):
    """What is known of all segments, each a stretch of the buffers; zeros and ``start`` begin."""

    alive: MutableSequence[int]
    """S x K: whether the arm may still be the segment's answer."""
    settled: MutableSequence[int]
    """S x K x K: whether the second arm is settled against the first."""
    counts: MutableSequence[int]
    """S x K x K x 9, for j < k: rounds with each pair of signs."""
    signs: MutableSequence[int]
    """S x K: the sign in this round and 2; 0 while it is missing."""
    sums: MutableSequence[int]
    pulls: MutableSequence[int]
    leader: MutableSequence[int]
    """S: the leader and 1; 0 until the segment has been judged, when it asks about all arms."""
    rounds: MutableSequence[int]
    judged: MutableSequence[int]
    """S: the rounds there were when the segment was judged last."""
    decided: MutableSequence[int]


def smallest_share(n_segments: int) -> float:
    """The share of a segment for which the smallest stake is made; smaller ones cost more."""
    return min(0.02, 1.0 / (2 * n_segments))


def pair_steps(subsets: SignedSubsets, c: float) -> list[float]:
    """D(c) for each of the nine pairs of signs."""
    member, stranger = subsets.presence
    steps = []
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            present = (abs(a) + abs(b) - 2.0 * stranger) / (member - stranger)
            steps.append((a - b) / (2.0 * subsets.slope) + c * present / 2.0)
    return steps


def make_bets(
    subsets: SignedSubsets, *, n_arms: int, epsilon: float, delta: float, liars: int = 0
) -> Bets:
    """Stakes from the largest safe one down to what the smallest share needs, by halves."""
    # Rewards are rounded on the grid of the noise: what that may take from a gap.
    reached = epsilon - 4.0 / GRID / subsets.slope
    settling, dropping = pair_steps(subsets, reached), pair_steps(subsets, 0.0)
    largest = LARGEST_LOSS / -min(settling + dropping)
    smallest = 1.4 * epsilon * smallest_share(subsets.n_segments)
    halvings = math.ceil(math.log2(largest * subsets.variance(epsilon) / smallest))
    stakes = [largest / 2.0**i for i in range(max(0, halvings) + 1)]

    def logs(steps: list[float]) -> list[float]:
        return [math.log1p(stake * step) for stake in stakes for step in steps]

    def costs(steps: list[float]) -> list[float]:
        return [
            liars * (math.log1p(stake * max(steps)) - math.log1p(stake * min(steps)))
            for stake in stakes
        ]

    return Bets(
        n_segments=subsets.n_segments,
        n_arms=n_arms,
        threshold=math.log(subsets.n_segments * (n_arms - 1) / delta),
        settling=logs(settling),
        dropping=logs(dropping),
        settling_cost=costs(settling),
        dropping_cost=costs(dropping),
    )


def new_segments(n_segments: int, n_arms: int) -> Segments:
    """Segments of which nothing is known, in lists.

    >>> new_segments(2, 3).alive
    [1, 1, 1, 1, 1, 1]
    """
    rows = n_segments * n_arms
    return Segments(
        alive=[1] * rows,
        settled=[0] * (rows * n_arms),
        counts=[0] * (rows * n_arms * PAIRS),
        signs=[0] * rows,
        sums=[0] * rows,
        pulls=[0] * rows,
        leader=[0] * n_segments,
        rounds=[0] * n_segments,
        judged=[0] * n_segments,
        decided=[0] * n_segments,
    )


def asks_about(bets: Bets, segments: Segments, z: int, arm: int) -> bool:
    """Whether segment z asks about an arm."""
    n_arms = bets.n_arms
    if segments.decided[z] == 1 or segments.alive[z * n_arms + arm] == 0:
        return False
    leader = segments.leader[z] - 1
    if leader < 0 or arm == leader:
        return True
    return segments.settled[(z * n_arms + leader) * n_arms + arm] == 0


def next_missing(bets: Bets, segments: Segments, z: int) -> int:
    """The first arm that segment z lacks in this round; -1 if the segment is decided."""
    for arm in range(bets.n_arms):
        if segments.signs[z * bets.n_arms + arm] == 0 and asks_about(bets, segments, z, arm):
            return arm
    return -1


def take(bets: Bets, segments: Segments, z: int, arm: int, sign: int) -> None:
    """Take in the sign of segment z in an answer about the arm that its round lacked."""
    at = z * bets.n_arms + arm
    segments.signs[at] = sign + 2
    segments.sums[at] += sign
    segments.pulls[at] += 1
    if next_missing(bets, segments, z) < 0:
        _end_round(bets, segments, z)


def _end_round(bets: Bets, segments: Segments, z: int) -> None:
    """Count the pairs of a complete round; judge when enough rounds have come since."""
    n_arms, first = bets.n_arms, z * bets.n_arms
    for j in range(n_arms):
        mine = segments.signs[first + j]
        if mine == 0:
            continue
        for k in range(j + 1, n_arms):
            other = segments.signs[first + k]
            if other > 0:
                pair = 3 * (mine - 1) + other - 1
                segments.counts[((first + j) * n_arms + k) * 9 + pair] += 1
    for j in range(n_arms):
        segments.signs[first + j] = 0
    segments.rounds[z] += 1
    if segments.rounds[z] > segments.judged[z] + segments.judged[z] // JUDGED:
        segments.judged[z] = segments.rounds[z]
        _judge(bets, segments, z)


def best_looking(bets: Bets, segments: Segments, z: int) -> int:
    """The arm with the highest mean sign among those left, the first of equals."""
    n_arms, first = bets.n_arms, z * bets.n_arms
    best = -1
    for arm in range(n_arms):
        at = first + arm
        if segments.alive[at] == 0:
            continue
        if best < 0 or segments.sums[at] * segments.pulls[first + best] > (
            segments.sums[first + best] * segments.pulls[at]
        ):
            best = arm
    return best


def _judge(bets: Bets, segments: Segments, z: int) -> None:
    """Settle and drop arms against the leader; decide once every other arm is settled."""
    n_arms, first = bets.n_arms, z * bets.n_arms
    leader = best_looking(bets, segments, z)
    segments.leader[z] = leader + 1
    unsettled = 0
    for arm in range(n_arms):
        if arm == leader or segments.alive[first + arm] == 0:
            continue
        settled = (first + leader) * n_arms + arm
        if segments.settled[settled] == 0 and is_proved(
            bets, segments, z, leader, arm, bets.settling, bets.settling_cost
        ):
            segments.settled[settled] = 1
        if segments.settled[settled] == 0:
            unsettled += 1
        elif is_proved(bets, segments, z, leader, arm, bets.dropping, bets.dropping_cost):
            segments.alive[first + arm] = 0
    if unsettled == 0:
        segments.decided[z] = 1


def is_proved(
    bets: Bets,
    segments: Segments,
    z: int,
    j: int,
    k: int,
    logs: Sequence[float],
    costs: Sequence[float],
) -> bool:
    """Whether the capital of j against k in segment z has reached the threshold."""
    return log_capital(bets, segments, z, j, k, logs, costs) >= bets.threshold


def log_capital(
    bets: Bets,
    segments: Segments,
    z: int,
    j: int,
    k: int,
    logs: Sequence[float],
    costs: Sequence[float],
) -> float:
    """The logarithm of the mean over the stakes of the capital of j against k."""
    n_arms = bets.n_arms
    counts = ((z * n_arms + min(j, k)) * n_arms + max(j, k)) * 9
    highest, total = -math.inf, 0.0
    for i in range(len(costs)):
        term = -costs[i]
        for pair in range(9):
            kept = pair if j < k else 3 * (pair % 3) + pair // 3
            term += segments.counts[counts + kept] * logs[9 * i + pair]
        if term > highest:
            total = total * math.exp(highest - term) + 1.0
            highest = term
        else:
            total += math.exp(term - highest)
    return highest + math.log(total / len(costs))


def withdraw(bets: Bets, segments: Segments, z: int, arm: int) -> None:
    """Take an arm out of segment z at an operator's wish; the others end the round that has begun.

    A segment whose answer it was is open again; what is asked about again waits for the next round
    (``judge_anew``).
    """
    at = z * bets.n_arms + arm
    if segments.leader[z] == arm + 1:
        segments.decided[z] = 0
    segments.alive[at] = segments.signs[at] = 0
    asked = [k for k in range(bets.n_arms) if asks_about(bets, segments, z, k)]
    if has_begun(bets, segments, z) and (
        next_missing(bets, segments, z) < 0 or len(asked) == 1  # a sign alone is in no pair
    ):
        _end_round(bets, segments, z)


def has_begun(bets: Bets, segments: Segments, z: int) -> bool:
    """Whether the round of a segment has any of its signs."""
    return any(segments.signs[z * bets.n_arms : (z + 1) * bets.n_arms])


def judge_anew(bets: Bets, segments: Segments, z: int, gone: Container[int]) -> None:
    """Between rounds: judge by the pair counts, with all arms but those that were withdrawn."""
    n_arms, first = bets.n_arms, z * bets.n_arms
    for k in range(n_arms):
        segments.alive[first + k] = 0 if k in gone else 1
    for pair in range(first * n_arms, (first + n_arms) * n_arms):
        segments.settled[pair] = 0
    segments.decided[z] = segments.leader[z] = 0
    segments.judged[z] = segments.rounds[z]
    if segments.rounds[z] or sum(segments.alive[first : first + n_arms]) == 1:
        _judge(bets, segments, z)


def fewest_answers(bets: Bets) -> int:
    """No segment is decided with fewer answers than this, whatever they say."""
    rounds = min(
        (bets.threshold + cost) / max(bets.settling[9 * i : 9 * i + 9])
        for i, cost in enumerate(bets.settling_cost)
    )
    return bets.n_arms * math.ceil(rounds)


def answers_expected(
    bets: Bets, subsets: SignedSubsets, means: Sequence[float], share: float
) -> int | None:
    """About how many answers decide a segment, if its arms pay ``means`` and are asked alike.

    The capital of the best arm against another grows, in each round, by the mean of its logarithm
    at the best stake. None if it does not grow.
    """
    best = max(range(len(means)), key=means.__getitem__)
    top = _sign_chances(subsets, share, means[best])
    n_stakes, rounds = len(bets.settling_cost), []
    for k, mean in enumerate(means):
        if k == best:
            continue
        other = _sign_chances(subsets, share, mean)
        pairs = [p * q for p in top for q in other]
        needed = []
        for i in range(n_stakes):
            logs = bets.settling[9 * i : 9 * i + 9]
            growth = sum(p * log for p, log in zip(pairs, logs, strict=True))
            if growth > 0.0:
                cost = bets.threshold + math.log(n_stakes) + bets.settling_cost[i]
                needed.append(cost / growth)
        if not needed:
            return None
        rounds.append(min(needed))
    return math.ceil(sum(rounds) + max(rounds))


def _sign_chances(subsets: SignedSubsets, share: float, mean: float) -> tuple[float, float, float]:
    """The probabilities of the signs -, 0 and + of a segment in an answer."""
    own, other = subsets.probabilities
    rest = (1.0 - share) * subsets.presence[1] / 2.0
    plus = share * (own * mean + other * (1.0 - mean)) + rest
    minus = share * (own * (1.0 - mean) + other * mean) + rest
    return minus, 1.0 - plus - minus, plus
