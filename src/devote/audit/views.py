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
from devote.simulator import Scenario
from devote.simulator.executors import in_chunks, local_executor, worker_count
from devote.simulator.run import Run


@dataclass(frozen=True)
class Sent:
    """One message as it goes by: who, when (in pulls of the whole fleet), about which arm.

    A vote is against its arm, a pick is for it.
    """

    player: int
    time: int
    arm: int
    """-1 for a message that is about none."""
    term: int = 0
    """How many resets there had been."""
    picks: bool = False
    """Whether the message is for the arm, not against it."""


@dataclass(frozen=True)
class View:
    """One player's messages, everybody else's, and the truth about the player.

    ``optimal`` are its epsilon-optimal arms, ``group`` its group, ``busy`` whether it was active
    more often than the median player, ``answer`` what the vote came to.
    """

    player: int
    n_arms: int
    own: tuple[Sent, ...]
    others: tuple[Sent, ...]
    n_players: int
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
        """Whether the player had said nothing of any arm when the run ended."""
        return not self.named

    @property
    def voters(self) -> int:
        """How many players had spoken of an arm when the run ended."""
        return len({sent.player for sent in (*self.own, *self.others) if sent.arm >= 0})

    @property
    def named(self) -> tuple[int, ...]:
        """The arms that the player's messages are about, in order.

        Of several terms, in the fullest; of terms with equally many messages, in the last.
        """
        told = [sent for sent in self.own if sent.arm >= 0]
        count = Counter(sent.term for sent in told)
        fullest = max(count, key=lambda term: (count[term], term), default=0)
        return tuple(sent.arm for sent in told if sent.term == fullest)

    @property
    def left(self) -> tuple[int, ...]:
        """The arms that these messages leave: the one picked, or those not voted against."""
        if any(sent.picks for sent in self.own):
            return self.named[-1:]
        return tuple(k for k in range(self.n_arms) if k not in self.named)


def view_run(scenario: Scenario, *, seed: int, trial: int, voters: bool = False) -> View:
    """Run one trial and look at a player drawn from it, or from those who spoke of an arm."""
    run = Run(scenario, seed=seed, trial=trial, tracing=True)
    while not run.over:
        run.advance()
    outcome = run.outcome()
    dice = random.Random(f"{seed}/{trial}/adversary")
    sent = [
        Sent(event.player, event.time, event.arm, event.term, picks=event.kind == "pick")
        for event in run.events
        if event.kind != "elimination"
    ]
    heard = sorted({message.player for message in sent if message.arm >= 0})
    player = dice.choice(heard if voters and heard else range(scenario.n_players))
    active = run.tables.players["active"].tolist()
    optimal, worst, group = _truth(scenario, player)
    return View(
        player=player,
        n_arms=scenario.spec.n_arms,
        n_players=scenario.n_players,
        own=tuple(message for message in sent if message.player == player),
        others=tuple(message for message in sent if message.player != player),
        samples=outcome.samples_until_all_know,
        optimal=optimal,
        worst=worst,
        group=group,
        activations=active[player],
        busy=active[player] > statistics.median(active),
        answer=outcome.winners[0],
        luck=dice.random(),
    )


def _truth(scenario: Scenario, player: int) -> tuple[frozenset[int], frozenset[int], int]:
    """The player's epsilon-optimal arms, as many of the worst, and its group."""
    env = scenario.problem.environment(scenario.n_players)
    means = [mean_reward(env, 0, player, arm) for arm in range(env.n_arms)]
    optimal = optimal_arms(means, scenario.spec.epsilon)
    ranked = sorted(range(env.n_arms), key=lambda arm: (means[arm], -arm))
    return optimal, frozenset(ranked[: len(optimal)]), env.groups[player]


def view_chunk(scenario: Scenario, trials: Sequence[int], seed: int, voters: bool) -> list[View]:
    """Look at some trials of a scenario."""
    return [view_run(scenario, seed=seed, trial=trial, voters=voters) for trial in trials]


def view_runs(
    scenario: Scenario, runs: int, *, seed: int, workers: int | None = 1, voters: bool = False
) -> list[View]:
    """Trials 0, 1, ... of a scenario, each through the eyes of an adversary."""
    count = worker_count(workers)
    size = max(1, min(50, runs // count))
    with local_executor(count) as executor:
        parts = in_chunks(executor, size, view_chunk, scenario, range(runs), seed, voters)
    return [view for part in parts for view in part]
