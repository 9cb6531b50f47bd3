"""What is asked of a planner: the wish, who there is, how often they play, how long one waits."""

import math
from dataclasses import dataclass, replace
from typing import Any

from devote.problems import Problem, Uniform
from devote.protocol import SpecError, Wish
from devote.protocol.scheme import check

RATES = ("plays_per_day", "visitors_per_day", "days")


@dataclass(frozen=True)
class Question:
    """What is asked of a fleet.

    Either a fixed fleet of ``wish.n_players`` devices, each of which plays ``plays_per_day`` times;
    or ``visitors_per_day`` new devices every day, each of which plays once, up to
    ``wish.n_players`` of them. ``days`` is the longest that one would wait, ``broken`` says which
    assumption of the proofs the problem breaks, and ``users_differ`` that it is only the one that
    options pay all users alike.
    """

    wish: Wish
    plays_per_day: float | None = None
    visitors_per_day: float | None = None
    days: float = 365.0
    broken: str = ""
    users_differ: bool = False

    def __post_init__(self) -> None:
        """Refuse what no scheme could be asked."""
        wish = self.wish
        check.whole("n_players", wish.n_players, least=1, remedy="Somebody must play.")
        check.fraction("epsilon", wish.epsilon, "It is how far from the best a good arm may be.")
        check.probability("delta", wish.delta, "It is the error allowed to the group.")
        check.whole("liars", wish.liars, least=0, remedy="It is how many devices may lie.")
        check.positive("days", self.days, "It is the longest that you would wait.")
        if wish.privacy is not None:
            remedy = "It is the e of local differential privacy, or none."
            check.positive("privacy", wish.privacy, remedy)
        self._check_rates()

    def _check_rates(self) -> None:
        plays, visitors = self.plays_per_day, self.visitors_per_day
        if (plays is None) == (visitors is None):
            raise SpecError(
                f"plays_per_day={plays} and visitors_per_day={visitors}: one of them is needed.\n"
                "Give plays_per_day for devices that play again and again, or visitors_per_day "
                "for visitors who come once."
            )
        if plays is not None:
            check.positive("plays_per_day", plays, "It counts the plays of one device.")
        if visitors is not None:
            check.positive("visitors_per_day", visitors, "It counts visitors who come once.")
            if visitors > self.wish.n_players:
                raise SpecError(
                    f"{visitors:,g} visitors a day, each a device of its own, cannot come from "
                    f"{self.wish.n_players:,} devices.\n"
                    "Give more devices, fewer visitors, or plays_per_day in place of visitors."
                )

    @property
    def plays_a_day(self) -> float:
        """Plays of all devices together, at first: visitors come once."""
        if self.visitors_per_day is not None:
            return self.visitors_per_day
        assert self.plays_per_day is not None
        return self.plays_per_day * self.wish.n_players

    def ask(self, name: str, value: Any) -> "Question":
        """The same with another value of one thing asked, by its name here or in the wish.

        Where visitors come every day there are as many devices as come while one waits.
        """
        if name not in RATES:
            return replace(self, wish=replace(self.wish, **{name: value}))
        rates = {each: getattr(self, each) for each in RATES} | {name: value}
        there = self.wish.n_players
        if rates["visitors_per_day"] is not None:
            there = max(there, math.ceil(rates["days"] * rates["visitors_per_day"]))
        return replace(self, wish=replace(self.wish, n_players=there), **rates)

    def days_for_answers(self, answers: float, each: int, problem: Problem) -> float:
        """After how many days so many answers are there, if a device gives up to ``each``.

        Infinite if there never are. Devices of a fixed fleet play at random moments: some play
        often before others play once.
        """
        n = self.wish.n_players
        if answers > n * each:
            return math.inf
        if self.visitors_per_day is not None:
            return answers / (self.visitors_per_day * each)
        assert self.plays_per_day is not None
        return _plays_until(answers, n, each, problem) / self.plays_per_day


def _plays_until(answers: float, n_players: int, each: int, problem: Problem) -> float:
    """Plays of each device on average until so many answers are there."""
    if each == 1 and isinstance(problem.activity, Uniform):
        # The sum of 1/(n - i) over the answers: the wait for a device that has not played yet.
        return math.log((n_players + 0.5) / (n_players - answers + 0.5))
    weights = _weights(problem, n_players)
    wanted = min(answers, n_players * each - 0.5)
    high = 1.0
    while _given(weights, high, each) < wanted:
        high *= 2.0
    low = 0.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2.0
        if _given(weights, middle, each) < wanted:
            low = middle
        else:
            high = middle
    return high


def _weights(problem: Problem, n_players: int) -> list[tuple[float, int]]:
    """How often devices play, against the average, and how many play so often."""
    if isinstance(problem.activity, Uniform):
        return [(1.0, n_players)]
    counts: dict[float, int] = {}
    for share in problem.activity.weights(n_players):
        weight = float(f"{share * n_players:.3g}")
        counts[weight] = counts.get(weight, 0) + 1
    return list(counts.items())


def _given(weights: list[tuple[float, int]], plays: float, each: int) -> float:
    """Answers on average after so many plays of each device: each gives ``each`` at most."""
    total = 0.0
    for weight, count in weights:
        rate = weight * plays
        # The mean of the lesser of a Poisson number and ``each``.
        term, below, mean = math.exp(-rate), 0.0, 0.0
        for k in range(each):
            mean += k * term
            below += term
            term *= rate / (k + 1)
        total += count * (mean + each * (1.0 - below))
    return total
