"""What several schemes need to know of one device: what is proved of it alone, and its privacy."""

import math
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from devote import theory
from devote.protocol.errors import SpecError
from devote.protocol.learner import Learner
from devote.protocol.planning import Bound, Case, Promise
from devote.protocol.scheme import check
from devote.protocol.spec import ExperimentSpec
from devote.rules.randomizer import LEAST

PRIVACY = "It is the e of local differential privacy: 1 is strong, 4 is weak."
LONGEST = 1_000_000
"""Pulls after which a subroutine that is followed pull by pull is given up."""

MOST = 30.0
"""The largest e of one message: beyond it the noise is there in name only."""

NONE = "none"
"""How no privacy is written in a specification: TOML has no word for nothing."""


def alone(spec: ExperimentSpec, eta: float) -> theory.LoneFailure:
    """What is proved of the subroutine alone, to which ``eta`` is handed."""
    return theory.lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.scheme.learner(spec).epsilon,
        eta=eta,
        radius=str(spec.options.get("radius", "union")),
    )


def why_unproved(case: Case, eta: float) -> str:
    """Why no proof applies to one device; empty where one does."""
    found = alone(case.spec, eta)
    if found.bound is None:
        return f"{case.spec.algorithm} alone: {found.why}"
    return case.broken


def check_privacy(privacy: Any, messages: int = 1, without: str = "leave it out") -> float:
    """The e of local differential privacy that a device's few messages share."""
    each = check.positive("privacy", privacy, PRIVACY) / messages
    if not LEAST <= each <= MOST:
        fault = "hides nothing" if each > MOST else "leaves nothing but noise"
        over = "" if messages == 1 else f" over {messages} answers of each device"
        raise SpecError(
            f"privacy={privacy}{over} {fault}.\n"
            f"Use a number from {LEAST:g} to {MOST:g} for each message, or {without}."
        )
    return float(privacy)


def follow(spec: ExperimentSpec, rewards: Sequence[float], longest: float) -> list[int]:
    """Pulls of each arm until the subroutine ends, or one more than ``longest`` in all.

    Its random numbers are drawn, always the same ones: a rule that chooses at random would not
    come to an end on constants. ``LONGEST`` pulls are never exceeded.
    """
    learner = Learner(spec.scheme.learner(spec))
    dice = random.Random(spec.algorithm)
    pulls = [0] * spec.n_arms
    for _ in range(int(min(longest, LONGEST)) + 1):
        if learner.best is not None:
            break
        arm = learner.activate(dice.random())
        pulls[arm] += 1
        learner.reward(rewards[arm])
    return pulls


@lru_cache(maxsize=256)
def fewest_pulls(spec: ExperimentSpec, longest: float = math.inf) -> int:
    """The fewest pulls with which the subroutine can end, or ``longest`` if that is lower.

    Found by the most telling rewards there are: 1 from the first arm, 0 from all others.
    """
    return sum(follow(spec, [1.0] + [0.0] * (spec.n_arms - 1), longest))


def right_answer(rows: tuple[Bound, ...], where: str = "") -> Promise:
    """Theorem 1, "finds an epsilon-optimal arm with probability 1 - delta"; errata 6, 7, 19."""
    meaning = " ".join(row.text for row in rows)
    if rows[-1].name == "proved":
        words = f"Wrong with probability at most {rows[-1].value:.2g}{where}."
        return Promise("right answer", "proved", f"{words} {meaning}")
    words = f"Claimed, not proved: wrong with probability at most {rows[0].value:.3g}{where}."
    return Promise("right answer", "claimed", f"{words} {meaning}")


def one_device(case: Case, eta: float) -> Promise:
    """Property 1, which the paper assumes of every subroutine and every bound rests on."""
    if why := why_unproved(case, eta):
        return Promise("one device", "claimed", f"Not proved here: {why}.")
    found = alone(case.spec, eta)
    return Promise(
        "one device",
        "proved",
        f"{case.spec.algorithm} alone loses all good arms with probability at most "
        f"{found.bound:.2g}, where {eta:.2g} is allowed: {found.why}.",
    )
