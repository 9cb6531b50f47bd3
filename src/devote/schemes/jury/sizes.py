"""How large a jury should be, for a planner.

Without privacy ten honest jurors must agree, and there are so many jurors that some option always
gets enough picks, however many options tie. With privacy no number of jurors is sure to decide,
because noise splits the picks; there are so many that the jury nearly always decides where one
option is best.
"""

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from devote.protocol.errors import SpecError
from devote.protocol.planning import Wish
from devote.protocol.spec import ExperimentSpec
from devote.rules.randomizer import GRID
from devote.schemes.estimate import expected_pulls
from devote.theory import binomial_tail

if TYPE_CHECKING:
    from devote.schemes.jury.scheme import Jury

LARGEST = 100_000
"""The most seats there may be."""

AGREE = 10
"""Honest jurors who must agree, if there are enough devices."""

PRIVATE_ETA = 0.1
DECIDES = 0.99
"""With this probability a private jury, all of whose liars pick otherwise, comes to an answer."""

MOST_PLAYS = 1e8
"""No device plays so often."""

SLACK = 1.75
"""A private juror picks after so many times the plays expected of it, if means are given."""


def open_jury(form: "type[Jury]", wish: Wish) -> ExperimentSpec:
    """``K (c - 1) + 1`` seats: one of K options has c picks once all have spoken."""
    _check_plays(expected_pulls(wish.spec(form(), eta=PRIVATE_ETA), wish.means), wish)
    most = (wish.n_players - 1) // wish.n_arms + 1 - wish.liars
    if most < 1:
        fewest = wish.n_arms * wish.liars + 1
        raise SpecError(
            f"a jury that tolerates {wish.liars:,} liars has at least {fewest:,} jurors.\n"
            "Use more devices, or fewer liars."
        )
    agree = min(AGREE, most)
    seats = wish.n_arms * (agree + wish.liars - 1) + 1

    def is_too_much(eta: float) -> bool:
        return binomial_tail(agree, seats - wish.liars, probability=eta) > wish.delta

    etas = [float(f"{digits}e{power}") for power in range(-12, -1) for digits in range(10, 100)]
    place = bisect_left(etas, True, key=is_too_much)
    if place == 0:
        raise SpecError(f"delta={wish.delta} asks for too much of one juror.\nUse a higher delta.")
    return wish.spec(form(seats=seats, liars=wish.liars), eta=etas[place - 1])


def private(form: "type[Jury]", wish: Wish) -> ExperimentSpec:
    """The fewest seats, in steps of a tenth, with which a private jury nearly always decides."""
    vote_after = _done_by(wish.spec(form(), eta=PRIVATE_ETA), wish)

    def jury(seats: int) -> ExperimentSpec:
        scheme = form(seats, liars=wish.liars, privacy=wish.privacy, vote_after=vote_after)
        return wish.spec(scheme, eta=PRIVATE_ETA)

    def decides(seats: int) -> bool:
        try:
            needed = jury(seats).votes_needed
        except SpecError:  # more jurors would have to agree than there are
            return False
        truth = form(privacy=wish.privacy).truths(wish.n_arms) / GRID
        other = (1.0 - truth) / (wish.n_arms - 1)
        right = other + (truth - other) * (1.0 - PRIVATE_ETA)
        assert needed is not None
        return binomial_tail(needed, seats - wish.liars, probability=right) >= DECIDES

    sizes = [1 + wish.liars]
    while sizes[-1] < LARGEST:
        sizes.append(min(LARGEST, math.ceil(sizes[-1] * 1.1)))
    place = bisect_left(sizes, True, key=decides)
    if place == len(sizes):
        others = "" if not wish.liars else ", fewer liars"
        raise SpecError(
            f"with privacy {wish.privacy:g} and {wish.n_arms} options no jury of up to "
            f"{LARGEST:,} devices decides.\nUse a higher privacy{others}, or a survey."
        )
    return jury(sizes[place])


def _done_by(spec: ExperimentSpec, wish: Wish) -> int:
    """A number of plays after which most jurors are done: on any problem, without means."""
    most, expected = expected_pulls(spec), expected_pulls(spec, wish.means)
    if most is None or expected is None:
        raise SpecError(
            f"nothing is known of when {spec.algorithm} ends.\n"
            "Use betting, or give the scheme and its vote_after by hand."
        )
    _check_plays(expected, wish)
    if wish.means is None:
        return sum(most) + 1
    return min(sum(most), math.ceil(SLACK * sum(expected))) + 1


def _check_plays(expected: list[int] | None, wish: Wish) -> None:
    if expected is not None and sum(expected) > MOST_PLAYS:
        raise SpecError(
            f"epsilon={wish.epsilon:g} would take each juror more than {MOST_PLAYS:,.0f} plays.\n"
            "Use a higher epsilon."
        )
