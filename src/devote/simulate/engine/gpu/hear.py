"""Who is heard, and for how long nothing is decided: see ``heard``."""

from collections.abc import Callable

from numba import cuda

from devote.kernels.tables import DECIDED, OWN, VERSION
from devote.simulate.engine.gpu.heard import N_OWN, N_SAID, add_up
from devote.simulate.engine.gpu.target import device_function
from devote.simulate.engine.windows import N_HALTED


def make_hear(ended: Callable[..., int]) -> Callable[..., bool]:
    """What notes a loud activation, and tells whether to stop there.

    That is if it decides by itself, or if there is no room: then the window does not count.
    """

    def hear(log, arena, mark):  # type: ignore[no-untyped-def]
        trials, _, trial, player, _, kept = log
        heard, counters, past = trials.heard, arena.counters, trials.past[trial]
        kept[N_SAID] += 1
        decides = counters[VERSION] != past[VERSION] or (counters[DECIDED] != 0) != (
            past[DECIDED] != 0
        )
        decides = decides or (arena.endless == 0 and ended(arena) != 0)
        place = cuda.atomic.add(trials.words, (trial, N_HALTED), 1)
        if place >= heard.who.shape[1]:
            return True
        heard.who[trial, place] = player
        heard.mark[trial, place] = mark
        heard.decides[trial, place] = decides
        n_arms = len(arena.tally)
        for k in range(n_arms):
            heard.adds[trial, place, k] = arena.tally[k] - trials.tally[trial, k]
        for j in range(N_OWN):
            heard.adds[trial, place, n_arms + j] = counters[OWN + j] - kept[j]
        return decides

    return device_function(hear)


def make_count_certain(due: Callable[..., int], team: bool) -> Callable[..., int]:
    """What tells how many loud activations, which are in order, come before the first decision."""

    def count_certain(heard, trial, n, me, mates, order, summed):  # type: ignore[no-untyped-def]
        tables = (summed.tally, summed.counters[OWN:])
        done, certain, left = 0, n, due(summed)
        if left == 0:
            certain = 0
        while done < certain:
            # So many do not decide together, if none does by itself; and the last is looked at.
            end = min(certain, done + max(1, left - 1))
            for e in range(end - 1, done - 1, -1):
                if heard.decides[trial, order[e]]:
                    end = certain = e
            if team:
                cuda.syncthreads()  # everybody has read what is due
            add_up(heard.adds[trial], order, done, end, me, mates, *tables)
            if team:
                cuda.syncthreads()
            done, left = end, due(summed)
            if left == 0:
                certain = min(certain, done - 1)
        return certain

    return device_function(count_certain)
