"""Betting: bet on which of two arms wins the next round, and count the capital as evidence.

A round pulls each asked arm once. For every two arms asked in the same round it counts the rounds,
and how often one paid 1 where the other paid 0. The capital of a bettor who stakes a fixed share
of it each round on one arm against another grows only if that arm is better; the mean of the
capitals over a grid of shares is the evidence. Rounds in which both arms pay the same cost next to
nothing, so that rare rewards need far fewer pulls than a rule that treats every reward as a fair
coin.

Rewards are bits here. A reward x strictly between 0 and 1 counts as 1 with probability x: the mean
stays, the variance grows to that of a coin with this mean.

Paper: not in it; Definition 4 with L = 1 and f(l) = 1. ``docs/proofs.md`` has the proof.
"""

import math
from collections.abc import Container

from devote.rules.algorithm import Algorithm
from devote.rules.state import COUNT, Out, Rule, State, add, best_mean, drop, eliminate, next_alive

LEADER = 1
"""Word of ``State.ints``: the leader and 1; 0 until a round has been judged, when all are asked."""

BITS = 2
"""First of a word per arm: 0 if it lacks its pull of this round, else 1 and the bit it paid.

After these come three tables with a word for each pair (j, a), in this order: rounds in which both
were asked, rounds that j won, and whether a is settled against j.
"""

UNIFORM = 0
"""Word of ``State.floats``: the uniform number of the pull, which rounds its reward to a bit."""

LARGEST_STAKE = 0.9
SMALLEST_STAKE = 1.4
"""The smallest share of the capital that is staked, as a multiple of epsilon."""
STEP = 1.5
"""Each share on the grid is so many times the one before."""

MOST_ARMS = 512
"""Three numbers for each pair of more arms are too many for a device."""


def rounds_at(n_arms: int, j: int, a: int) -> int:
    """Where the number of rounds in which both j and a were asked stands."""
    return BITS + n_arms + j * n_arms + a


def wins_at(n_arms: int, j: int, a: int) -> int:
    """Where the number of rounds that j won against a stands."""
    return rounds_at(n_arms, j, a) + n_arms * n_arms


def settled_at(n_arms: int, j: int, a: int) -> int:
    """Where it stands whether a is settled against j."""
    return wins_at(n_arms, j, a) + n_arms * n_arms


def log_capital(epsilon: float, wins: float, losses: float, rounds: float, s: float) -> float:
    """The logarithm of C(w, l, t, s), the evidence that an arm is at most s below another.

    The mean over the shares g of ``(1 + g(1+s))^w (1 - g(1-s))^l (1 + g s)^(t-w-l)``. Below s = 0
    shares are smaller by 1 - s, so that no round costs more than the largest share.

    >>> round(math.exp(log_capital(0.25, wins=10, losses=2, rounds=20, s=0.0)), 3)
    11.253
    """
    draws = rounds - wins - losses
    highest = -math.inf
    total = 0.0
    shares = 0
    g = min(SMALLEST_STAKE * epsilon, LARGEST_STAKE)
    scale = 1.0 if s >= 0.0 else 1.0 / (1.0 - s)
    while True:
        term = (
            wins * math.log1p(scale * g * (1.0 + s))
            + losses * math.log1p(-scale * g * (1.0 - s))
            + draws * math.log1p(scale * g * s)
        )
        # The sum is kept relative to its highest term: exp of that may be too large for a float.
        if term > highest:
            total = total * math.exp(highest - term) + 1.0
            highest = term
        else:
            total += math.exp(term - highest)
        shares += 1
        if g >= LARGEST_STAKE:
            return highest + math.log(total / shares)
        g = min(STEP * g, LARGEST_STAKE)


def is_proved(rule: Rule, wins: float, losses: float, rounds: float, s: float) -> bool:
    """Whether the capital reaches (K-1)/eta wherever up to ``rule.liars`` lies may stand.

    A lie turns one round of a pair from a win into a draw or from a draw into a loss. The least
    capital is that of lies which make as many losses as there are draws for.
    """
    threshold = math.log((rule.n_arms - 1) / rule.eta)
    if LARGEST_STAKE * (wins - losses - rule.liars + s * rounds) < threshold:  # as ln(1 + x) <= x
        return False
    return least_log_capital(rule, wins, losses, rounds, s) >= threshold


def least_log_capital(rule: Rule, wins: float, losses: float, rounds: float, s: float) -> float:
    """The logarithm of the capital wherever up to ``rule.liars`` lies may stand."""
    draws = rounds - wins - losses
    undone = max(0, (rule.liars - draws + 1) // 2)
    if undone > wins:
        return -math.inf
    wins -= undone
    losses += rule.liars - undone
    return log_capital(rule.epsilon, wins, losses, rounds, s)


def difference(
    rule: Rule, state: State, j: int, a: int, alpha: float
) -> tuple[float, float] | None:
    """By how much j is better than a, at least and at most; None before their first round.

    A confidence interval: with probability at least 1 - ``alpha`` it holds the true difference at
    all times at once. Each end is found by bisection. For each s the capital is a bet against "the
    difference is at most -s"; it grows with s, and -s is ruled out once the capital reaches
    2 / ``alpha`` (Ville's inequality, once for each end).
    Source: Waudby-Smith and Ramdas 2024.
    """
    rounds = state.ints[rounds_at(rule.n_arms, j, a)]
    if rounds == 0:
        return None
    wins = state.ints[wins_at(rule.n_arms, j, a)]
    losses = state.ints[wins_at(rule.n_arms, a, j)]
    threshold = math.log(2.0 / alpha)

    def least(wins: int, losses: int) -> float:
        """The largest difference that is ruled out, or -1."""
        low, high = -1.0, 1.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            if least_log_capital(rule, wins, losses, rounds, -middle) >= threshold:
                low = middle
            else:
                high = middle
        return low

    return least(wins, losses), -least(losses, wins)


def asks(rule: Rule, state: State, arm: int) -> bool:
    """Whether a round asks about an arm: the leader, and the arms not settled against it."""
    if not state.alive[arm]:
        return False
    leader = state.ints[LEADER] - 1
    if leader < 0 or arm == leader:
        return True
    return state.ints[settled_at(rule.n_arms, leader, arm)] == 0


def next_asked(rule: Rule, state: State) -> int:
    """The first asked arm that lacks its pull of this round; -1 once the round is complete."""
    for k in range(rule.n_arms):
        if state.ints[BITS + k] == 0 and asks(rule, state, k):
            return k
    return -1


def choose(rule: Rule, state: State, u: float) -> int:
    """The asked arms of a round by index; ``u`` is kept for the reward.

    Others may have completed the round by taking out the arms that it lacked. Then this is the
    first pull of the next one, and ``observe`` judges the completed one first.
    """
    state.floats[UNIFORM] = u
    arm = next_asked(rule, state)
    if arm >= 0:
        return arm
    for k in range(rule.n_arms):
        if asks(rule, state, k):
            return k
    return next_alive(state, 0)


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """Round the reward to a bit, and judge each round when it is complete."""
    n_out = 0
    if state.ints[COUNT] > 1 and next_asked(rule, state) < 0:
        n_out = end_round(rule, state, out)
    bit = 1 if state.floats[UNIFORM] < reward else 0
    add(state, arm, float(bit))
    if state.ints[COUNT] == 1 or not asks(rule, state, arm):
        return n_out
    state.ints[BITS + arm] = 1 + bit
    if next_asked(rule, state) >= 0:
        return n_out
    return end_round(rule, state, out)


def end_round(rule: Rule, state: State, out: Out) -> int:
    """Count the pairs of a complete round, judge, and begin the next one."""
    n_arms = rule.n_arms
    for j in range(n_arms):
        mine = state.ints[BITS + j]
        if mine > 0 and state.alive[j]:
            for a in range(n_arms):
                other = state.ints[BITS + a]
                if a != j and other > 0 and state.alive[a]:
                    state.ints[rounds_at(n_arms, j, a)] += 1
                    if mine > other:
                        state.ints[wins_at(n_arms, j, a)] += 1
    n_out = judge(rule, state, out)
    for k in range(n_arms):
        state.ints[BITS + k] = 0
    return n_out


def judge(rule: Rule, state: State, out: Out) -> int:
    """Settle and drop arms against the leader; stop once every other arm is settled."""
    n_arms = rule.n_arms
    leader = best_mean(state)
    state.ints[LEADER] = leader + 1
    n_out, unsettled = 0, 0
    for a in range(n_arms):
        if a == leader or not state.alive[a]:
            continue
        settled = settled_at(n_arms, leader, a)
        wins = state.ints[wins_at(n_arms, leader, a)]
        losses = state.ints[wins_at(n_arms, a, leader)]
        rounds = state.ints[rounds_at(n_arms, leader, a)]
        if state.ints[settled] == 0 and is_proved(rule, wins, losses, rounds, rule.epsilon):
            state.ints[settled] = 1
        if state.ints[settled] == 0:
            unsettled += 1
        elif is_proved(rule, wins, losses, rounds, 0.0):
            n_out = eliminate(state, a, out, n_out)
    if unsettled > 0:
        return n_out
    for a in range(n_arms):
        if state.alive[a] and a != leader:
            n_out = eliminate(state, a, out, n_out)
    return n_out


def withdraw(rule: Rule, state: State, arm: int, out: Out) -> None:
    """Take an arm out at an operator's wish; the others end the round that has begun.

    What is asked about again must wait for the next round (``judge_anew``): an operator who has
    seen a bit must not choose with which other bits it is paired.
    """
    if state.alive[arm]:
        drop(state, arm)
    state.ints[BITS + arm] = 0
    asked = [k for k in range(rule.n_arms) if asks(rule, state, k)]
    if has_begun(rule, state) and (
        next_asked(rule, state) < 0 or len(asked) == 1  # a bit alone is in no pair
    ):
        end_round(rule, state, out)


def has_begun(rule: Rule, state: State) -> bool:
    """Whether a round has any of its bits."""
    return any(state.ints[BITS + k] for k in range(rule.n_arms))


def judge_anew(rule: Rule, state: State, gone: Container[int], out: Out) -> None:
    """Between rounds: judge by the pair counts, with all arms but those that were withdrawn."""
    state.ints[COUNT] = 0
    for k in range(rule.n_arms):
        state.alive[k] = 0 if k in gone else 1
        state.ints[COUNT] += state.alive[k]
        for j in range(rule.n_arms):
            state.ints[settled_at(rule.n_arms, j, k)] = 0
    state.ints[LEADER] = 0
    if all(state.pulls[k] for k in range(rule.n_arms) if state.alive[k]):
        judge(rule, state, out)


ALGORITHM = Algorithm(
    name="betting",
    summary="bets on pairs of arms, so that rare rewards need few pulls; for clicks",
    source="docs/proofs.md; Waudby-Smith and Ramdas 2024 for betting",
    choose=choose,
    observe=observe,
    asks=asks,
    n_ints=lambda n_arms: BITS + n_arms + 3 * n_arms * n_arms,
    n_floats=1,
    tolerates_liars=True,
    most_arms=MOST_ARMS,
)
