"""The compiled loop: who wakes, what is played and paid, calling the kernels that devices run.

``make_loop`` closes over one subroutine's ``choose`` and ``observe`` and over one scheme's part,
so numba specialises it; there is no second implementation of a rule here. A call runs through one
block of uniforms, or until the run ends or the trace is full, and can be called again to go on.

Paper: Algorithms 1 and 2.
"""

from collections.abc import Callable

from devote.kernels import Algorithm, State
from devote.kernels.tables import ACTIVE, ENDED, N_EVENTS, SUBOPTIMAL, TIME
from devote.problems import is_suboptimal, pay, pick
from devote.protocol.engine import Engine
from devote.simulate.engine.memory import prefetch_row

AHEAD = 8
"""How many pulls early a player's memory is asked for."""


def make_loop(algorithm: Algorithm, engine: Engine, fingerprint: int) -> Callable[..., None]:
    """A loop specialised to a subroutine and a scheme, ready to be compiled.

    ``fingerprint`` identifies the sources of the kernels. It is part of what the loop closes
    over, and so of its key in numba's cache, which by itself would not see a kernel change.
    """
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    one_learner, apart = engine.one_learner, engine.apart or not engine.one_learner
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    asks = algorithm.asks

    def loop(  # type: ignore[no-untyped-def]
        env, rule, waking, learners, arena, u_wake, u_choose, u_pay, u_noise
    ):
        counters = arena.counters
        threshold, alias = waking
        alive, pulls, sums, ints, floats = learners
        subroutine = (rule, choose, observe, asks)
        room = len(arena.events) - 2 * len(arena.tally) - 2
        known = fingerprint
        suboptimal = 0
        t = counters[TIME]
        n_pulls = len(u_wake)
        for i in range(n_pulls):
            if arena.vast and apart and i + AHEAD < n_pulls:
                u = u_wake[i + AHEAD]
                soon = int(u * arena.n_players) if arena.even else pick(threshold, alias, u)
                prefetch_row(arena.own, soon)
                if not one_learner:
                    prefetch_row(ints, soon)
                    prefetch_row(sums, soon)
            player = (
                int(u_wake[i] * arena.n_players)
                if arena.even
                else pick(threshold, alias, u_wake[i])
            )
            row = 0 if one_learner else player
            n = player if apart else 0
            state = State(alive[row], pulls[row], sums[row], ints[row], floats[row])
            counters[TIME] = t
            arena.own[n, ACTIVE] += 1
            wake(arena, state, n, u_noise[i])
            arm = play(subroutine, arena, state, n, u_choose[i])
            if arena.steady:
                suboptimal += 1 - arena.good[arm]
            else:
                suboptimal += is_suboptimal(env, arena.epsilon, t, player, arm)
            if arena.recording:
                arena.arm_pulls[arm] += 1
                arena.player_pulls[player] += 1
            reward = pay(env, t, player, arm, u_pay[i])
            n_out = take(subroutine, arena, state, n, arm, reward, u_noise[i])
            if n_out != 0:
                learn(arena, state, n, n_out)
            t += 1
            if not arena.endless:
                counters[ENDED] = ended(arena)
                if counters[ENDED] != 0:
                    break
            if arena.tracing and counters[N_EVENTS] > room:
                break
        counters[TIME] = t
        counters[SUBOPTIMAL] += suboptimal
        if known < 0:
            counters[ENDED] = known

    return loop
