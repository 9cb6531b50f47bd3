"""Trials on the device, as many at once as its memory holds."""

from collections.abc import Iterator, Sequence
from typing import Any

from devote.simulate.engine.clocks_run import runs_by_itself
from devote.simulate.engine.gpu.target import check_device, free_bytes
from devote.simulate.engine.room import bytes_per_player
from devote.simulate.errors import SweepError
from devote.simulate.scenario import Scenario
from devote.simulate.trial import Trial

PER_TRIAL = 4096
"""Bytes of a trial beside its players, at most."""

SHARE = 0.8
"""Of the free memory that players may take."""


def trials_at_once(scenario: Scenario) -> int:
    """How many trials the memory of the device holds; at least one, or it is refused."""
    player = bytes_per_player(scenario)
    each = player * scenario.n_players + PER_TRIAL
    there = SHARE * free_bytes()
    if each > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {each / 2**30:,.0f} GiB of the GPU's memory, "
            f"{player} bytes each, but {there / 2**30:,.0f} GiB are to be had.\n"
            f"Use {int(there) // player:,} players or fewer, or engine clocks."
        )
    return int(there // each)


def run_batches(
    scenario: Scenario, *, seed: int, trials: Sequence[int]
) -> Iterator[tuple[int, Trial]]:
    """Each trial with its number, one batch after another."""
    check_device()
    from devote.simulate.engine.gpu.batch import Batch
    from devote.simulate.engine.gpu.lone import LoneBatch
    from devote.simulate.engine.gpu.merged import MergedBatch

    engine = scenario.scheme.engine
    assert engine is not None
    form: Any = MergedBatch if engine.one_learner or engine.clocks is None else Batch
    if scenario.own_clocks and runs_by_itself(scenario):
        form = LoneBatch
    size = trials_at_once(scenario)
    for first in range(0, len(trials), size):
        some = trials[first : first + size]
        batch = form(scenario, seed=seed, trials=some)
        batch.play()
        yield from zip(some, batch.outcomes(), strict=True)
