"""The compiled loop: Algorithm 2 over arrays, calling the very kernels that devices run.

``make_loop`` closes over one subroutine's ``choose`` and ``observe`` and over what the protocol
does, so numba specialises it; there is no second implementation of a rule here, only who wakes,
what is counted, and when it ends. A call runs through one block of uniforms, or until the run
ends or the trace is full, and can be called again to go on.

Paper: Algorithm 2, with errata 1-5 and 14.
"""

from collections.abc import Callable

from devote.kernels import COUNT, RESET, State, merge, start
from devote.problems import is_suboptimal, pay, pick
from devote.simulate.borrowing import borrowed
from devote.simulate.counting import (
    ACTIVE,
    BROADCASTS,
    CONFLICTS,
    DONE,
    ENDED,
    HOLDING,
    N_EVENTS,
    N_SHARED,
    RESETS,
    SEATED_AS,
    SEEN,
    SEEN_TERM,
    SUBOPTIMAL,
    TERM,
    TIME,
    VERSION,
    cast,
    claim_seat,
    ending,
    holds_answer,
    open_term,
    update_shared,
)
from devote.simulate.prefetching import prefetch_row

AHEAD = 8
"""How many pulls early a player's memory is asked for."""


def make_loop(
    choose: Callable[..., int],
    observe: Callable[..., int],
    *,
    votes: bool,
    pools: bool,
    seats: bool,
    fingerprint: int,
) -> Callable[..., None]:
    """A loop specialised to a subroutine and a protocol, ready to be compiled.

    ``fingerprint`` identifies the sources of the kernels. It is part of what the loop closes
    over, and so of its key in numba's cache, which by itself would not see a kernel change.
    """

    def loop(  # type: ignore[no-untyped-def]
        env, rule, setup, waking, learners, tables, counters, u_wake, u_choose, u_pay
    ):
        env = borrowed(env)
        tables = borrowed(tables)
        counters = borrowed(counters)
        threshold, alias = borrowed(waking)
        alive, pulls, sums, ints, floats = borrowed(learners)
        n_arms = len(tables.tally)
        room = len(tables.events) - 2 * n_arms - 2
        known = fingerprint
        version = counters[VERSION]
        suboptimal = 0
        t = counters[TIME]
        n_pulls = len(u_wake)
        for i in range(n_pulls):
            if setup.vast and not pools and i + AHEAD < n_pulls:
                u = u_wake[i + AHEAD]
                soon = int(u * setup.n_players) if setup.even else pick(threshold, alias, u)
                prefetch_row(tables.own, soon)
                prefetch_row(ints, soon)
                prefetch_row(sums, soon)
            player = (
                int(u_wake[i] * setup.n_players)
                if setup.even
                else pick(threshold, alias, u_wake[i])
            )
            n = 0 if pools else player
            state = State(alive[n], pulls[n], sums[n], ints[n], floats[n])
            own = tables.own[n]
            own[ACTIVE] += 1
            if votes and own[SEEN] != version:
                held = holds_answer(tables, alive, n)
                own[SEEN] = version
                if own[SEEN_TERM] != counters[TERM]:
                    own[SEEN_TERM] = counters[TERM]
                    start(state)
                if not (seats and own[SEATED_AS] > 0) or counters[N_SHARED] == 1:
                    counters[CONFLICTS] += merge(state, tables.shared)
                if counters[N_SHARED] == 1 and not held:
                    counters[HOLDING] += 1
            arm = choose(rule, state, u_choose[i])
            if setup.steady:
                suboptimal += 1 - tables.good[arm]
            else:
                suboptimal += is_suboptimal(env, rule.epsilon, t, player, arm)
            reward = pay(env, t, player, arm, u_pay[i])
            n_out = observe(rule, state, arm, reward, tables.out)
            if n_out != 0 or seats:
                counters[TIME] = t
                if votes:
                    if n_out == RESET:
                        open_term(seats, setup, tables, counters, n)
                        own[SEEN] = counters[VERSION]
                    else:
                        sent = 0
                        if not seats:
                            for j in range(n_out):
                                sent += cast(setup, tables, counters, n, tables.out[j])
                        elif own[SEATED_AS] == 0:
                            sent = claim_seat(setup, tables, counters, n)
                        elif counters[N_SHARED] > 1:
                            for k in range(n_arms):
                                if not state.alive[k]:
                                    sent += cast(setup, tables, counters, n, k)
                        if sent > 0:
                            update_shared(seats, setup, tables, counters, n, alive)
                    version = counters[VERSION]
                elif n_out == RESET:
                    counters[RESETS] += 1
                    if state.ints[COUNT] == n_arms:
                        counters[DONE] = 0
                elif state.ints[COUNT] == 1:
                    counters[DONE] += 1
            if pools:
                counters[BROADCASTS] += 1
            t += 1
            if not setup.endless:
                if votes:
                    counters[ENDED] = ending(seats, setup, counters)
                elif counters[DONE] == len(alive):
                    counters[ENDED] = 1
                if counters[ENDED] != 0:
                    break
            if setup.tracing and counters[N_EVENTS] > room:
                break
        counters[TIME] = t
        counters[SUBOPTIMAL] += suboptimal
        if known < 0:
            counters[ENDED] = known

    return loop
