"""Playing a device turn by turn, with made-up clicks or a person's."""

import random
from collections.abc import Callable, Sequence
from typing import TextIO, TypeAlias

from devote.device.device import Device
from devote.device.errors import DeviceError

User: TypeAlias = Callable[[int], float | None]
"""Shown an arm, it says what that was worth, or None to stop."""


def play(device: Device, user: User, most: int | None = None) -> int:
    """Take turns while there is no answer and the user goes on; returns how many."""
    turns = 0
    while device.status().state == "open" and (most is None or turns < most):
        choice = device.choose()
        worth = user(choice)
        if worth is None:
            break
        device.reward(worth, choice)
        turns += 1
    return turns


def made_up(means: Sequence[float], arms: Sequence[str], seed: int) -> User:
    """A user who clicks on arm k with probability ``means[k]``."""
    if len(means) != len(arms):
        raise DeviceError(
            f"{len(means)} means were given, but the experiment has {len(arms)} arms.\n"
            "Pass one mean for each arm."
        )
    dice = random.Random(f"{seed}/user")
    return lambda arm: float(dice.random() < means[arm])


def ask(arms: Sequence[str], answers: TextIO, say: Callable[[str], object]) -> User:
    """A person at a terminal, or a program writing lines; stops at the end of its input."""

    def user(arm: int) -> float | None:
        say(f"{arms[arm]}? (0 to 1)")
        for line in answers:
            text = line.strip() or "0"
            try:
                worth = float(text)
            except ValueError:
                worth = -1.0
            if 0.0 <= worth <= 1.0:
                return worth
            say("A number from 0 to 1, please: 1 for a click, 0 or an empty line for none.")
        return None

    return user
