"""What an adversary sees of one player in one run, beside what it would like to know.

The player is drawn at random in each run, so that runs, and with them the successes that are
counted, are independent.

Paper: Definition 3, an adversary that knows the messages of one player and the algorithm.
"""

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from devote.problems import mean_reward, optimal_arms
from devote.simulate import counting
from devote.simulate.cell import Cell
from devote.simulate.run import Run
from devote.simulate.setting import Setting
from devote.simulate.streams import NAMES, numpy_stream
from devote.simulate.workers import local_executor, worker_count


@dataclass(frozen=True)
class Sent:
    """One message as it goes by: who, when (in pulls of the whole fleet), against which arm."""

    player: int
    time: int
    arm: int
    """-1 for the claim of a seat and for a reset."""
    term: int = 0
    """How many resets there had been."""


@dataclass(frozen=True)
class View:
    """One player's messages, everybody else's, and the truth about the player.

    ``optimal`` are its epsilon-optimal arms, ``group`` its group, ``busy`` whether it was active
    more often than the median player, ``answer`` what the vote came to.
    """

    player: int
    n_arms: int
    n_players: int
    own: tuple[Sent, ...]
    others: tuple[Sent, ...]
    samples: int
    optimal: frozenset[int]
    worst: frozenset[int]
    group: int
    activations: int
    busy: bool
    answer: int
    luck: float

    @property
    def silent(self) -> bool:
        """Whether the player had not voted when the run ended."""
        return not self.against

    @property
    def voters(self) -> int:
        """How many players had voted when the run ended."""
        return len({sent.player for sent in (*self.own, *self.others) if sent.arm >= 0})

    @property
    def against(self) -> tuple[int, ...]:
        """The arms that the player voted against, in order; of several terms, in the fullest.

        Of terms in which it cast equally many votes, the last.
        """
        votes = [sent for sent in self.own if sent.arm >= 0]
        cast = Counter(sent.term for sent in votes)
        fullest = max(cast, key=lambda term: (cast[term], term), default=0)
        return tuple(sent.arm for sent in votes if sent.term == fullest)


def view_run(setting: Setting, *, seed: int, trial: int, voters: bool = False) -> View:
    """Run one trial and look at a player drawn from it, or from those who voted if anybody did."""
    run = Run(setting, tracing=True)
    streams = [numpy_stream(seed, trial, name) for name in NAMES]
    while not run.over:
        size = run.next_block()
        run.advance(*(stream.random(size) for stream in streams))
    outcome = run.outcome()
    dice = random.Random(f"{seed}/{trial}/adversary")
    sent = [
        Sent(event.player, event.time, event.arm, event.term)
        for event in run.events
        if event.kind in ("vote", "seat", "reset")
    ]
    heard = sorted({message.player for message in sent if message.arm >= 0})
    player = dice.choice(heard if voters and heard else range(setting.n_players))
    active = run.tables.own[:, counting.ACTIVE].tolist()
    optimal, worst, group = _truth(setting, player)
    return View(
        player=player,
        n_arms=setting.spec.n_arms,
        n_players=setting.n_players,
        own=tuple(message for message in sent if message.player == player),
        others=tuple(message for message in sent if message.player != player),
        samples=outcome.samples,
        optimal=optimal,
        worst=worst,
        group=group,
        activations=active[player],
        busy=active[player] > statistics.median(active),
        answer=outcome.winners[0],
        luck=dice.random(),
    )


def _truth(setting: Setting, player: int) -> tuple[frozenset[int], frozenset[int], int]:
    """The player's epsilon-optimal arms, as many of the worst, and its group."""
    env = setting.problem.environment(setting.n_players)
    means = [mean_reward(env, 0, player, arm) for arm in range(env.n_arms)]
    optimal = optimal_arms(means, setting.spec.epsilon)
    ranked = sorted(range(env.n_arms), key=lambda arm: (means[arm], -arm))
    return optimal, frozenset(ranked[: len(optimal)]), env.groups[player]


def view_chunk(cell: Cell, trials: Sequence[int], seed: int, voters: bool) -> list[View]:
    """Look at some trials of a cell."""
    setting = cell.setting
    return [view_run(setting, seed=seed, trial=trial, voters=voters) for trial in trials]


def view_runs(
    cell: Cell, runs: int, *, seed: int, workers: int | None = 1, voters: bool = False
) -> list[View]:
    """Trials 0, 1, ... of a cell, each through the eyes of an adversary."""
    count = worker_count(workers)
    step = max(1, min(50, runs // count))
    trials = range(runs)
    with local_executor(count) as (executor, _):
        parts = [trials[i : i + step] for i in range(0, runs, step)]
        futures = [executor.submit(view_chunk, cell, part, seed, voters) for part in parts]
        return [view for future in futures for view in future.result()]
