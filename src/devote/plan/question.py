"""What a planner is asked: the wish, what arms pay, who there is, how long one waits."""

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from devote.plan.promises import broken_assumption
from devote.problems import Problem, Uniform
from devote.protocol import SpecError, Wish
from devote.protocol.scheme import check

Floats: TypeAlias = NDArray[np.float64]

MOST_WEIGHTS = 1_000_000
"""How often devices play is looked at for so many: a larger fleet is taken to be like that."""

RATES = ("plays_per_day", "visitors_per_day", "days")


@dataclass(frozen=True)
class Question:
    """What is asked of a fleet whose arms pay as in ``problem``.

    Either a fixed fleet of ``wish.n_players`` devices, each of which plays ``plays_per_day`` times;
    or ``visitors_per_day`` new devices every day, each of which plays once, up to
    ``wish.n_players`` of them. ``days`` is the longest that one would wait.
    """

    wish: Wish
    problem: Problem
    plays_per_day: float | None = None
    visitors_per_day: float | None = None
    days: float = 365.0

    def __post_init__(self) -> None:
        """Refuse what no scheme could be asked."""
        wish, plays, visitors = self.wish, self.plays_per_day, self.visitors_per_day
        check.whole("n_players", wish.n_players, least=1, remedy="Somebody must play.")
        check.fraction("epsilon", wish.epsilon, "It is how far from the best a good arm may be.")
        check.probability("delta", wish.delta, "It is the error allowed to the group.")
        check.whole("liars", wish.liars, least=0, remedy="It is how many devices may lie.")
        check.positive("days", self.days, "It is the longest that you would wait.")
        if wish.privacy is not None:
            remedy = "It is the e of local differential privacy, or none."
            check.positive("privacy", wish.privacy, remedy)
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
            if visitors > wish.n_players:
                raise SpecError(
                    f"{visitors:,g} visitors a day, each a device of its own, cannot come from "
                    f"{wish.n_players:,} devices.\n"
                    "Give more devices, fewer visitors, or plays_per_day in place of visitors."
                )

    @property
    def broken(self) -> str:
        """Which assumption of the proofs the problem breaks; empty if none."""
        return broken_assumption(self.problem)

    @property
    def gap(self) -> float:
        """How much more the best arm pays than the worst."""
        return max(self.problem.means) - min(self.problem.means)

    @property
    def plays_a_day(self) -> float:
        """Plays of all devices together, at first: visitors come once."""
        if self.visitors_per_day is not None:
            return self.visitors_per_day
        assert self.plays_per_day is not None
        return self.plays_per_day * self.wish.n_players

    def asks(self, name: str) -> Any:
        """The value of one thing asked, by its name here or in the wish."""
        return getattr(self if name in RATES else self.wish, name)

    def ask(self, name: str, value: Any) -> "Question":
        """The same with another value of one thing asked.

        Where visitors come every day there are as many devices as come while one waits.
        """
        if name not in RATES:
            return replace(self, wish=replace(self.wish, **{name: value}))
        rates = {each: getattr(self, each) for each in RATES} | {name: value}
        there = self.wish.n_players
        if rates["visitors_per_day"] is not None:
            there = max(there, math.ceil(rates["days"] * rates["visitors_per_day"]))
        return replace(self, wish=replace(self.wish, n_players=there), **rates)

    def days_for_answers(self, answers: Floats, each: int) -> Floats:
        """After how many days so many answers are there, if a device gives up to ``each``.

        Infinite if there never are. Devices of a fixed fleet play at random moments: some play
        often before others play once.
        """
        n = self.wish.n_players
        if self.visitors_per_day is not None:
            days = answers / (self.visitors_per_day * each)
        else:
            assert self.plays_per_day is not None
            days = _plays_until(answers, n, each, self.problem) / self.plays_per_day
        return np.where(answers > n * each, math.inf, days)


def _plays_until(answers: Floats, n_players: int, each: int, problem: Problem) -> Floats:
    """Plays of each device on average until so many answers are there."""
    from scipy.special import gammainc, gammaincc

    # How often devices play, against the average, and how many play so often.
    rates, counts = np.ones(1), np.array([float(n_players)])
    if not isinstance(problem.activity, Uniform):
        some = min(n_players, MOST_WEIGHTS)
        relative = some * np.array(problem.activity.weights(some))
        logs, found = np.unique(np.round(np.log(relative), 2), return_counts=True)
        rates, counts = np.exp(logs), found * (n_players / some)
    end = 4.0 * (each + math.log(4.0 * n_players)) / float(rates.min())
    plays = np.geomspace(1e-3 / n_players, end, 2_000)
    # The mean of the lesser of a Poisson number and ``each``, summed over devices.
    poisson = rates[:, None] * plays
    given = poisson * gammaincc(each - 1, poisson) + each * gammainc(each, poisson)
    # The last of n devices to play for the first time is waited for: a sum of 1/k, not infinity.
    wanted = answers * (n_players * each / (n_players * each + 0.5))
    return np.interp(wanted, counts @ given, plays)
