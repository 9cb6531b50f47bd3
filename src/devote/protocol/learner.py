"""A subroutine at work on one device: it plays, learns and eliminates, and sends nothing.

An isolated player is nothing else; the ``Player`` of any scheme has one and adds messages.

Paper: Definition 4; Algorithm 1, lines 4-6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from devote.protocol.errors import LocalProtocolError
from devote.rules import RESET, Algorithm, Rule, get_algorithm, start
from devote.rules.state import COUNT

NOTHING: tuple[list[int], list[float]] = ([], [])


def is_reward(x: object) -> bool:
    """Whether x is a number in [0, 1]; ``True`` is a click, ``False`` is none."""
    return isinstance(x, (int, float)) and 0.0 <= x <= 1.0


@dataclass(frozen=True)
class LearnerSettings:
    """What a learner runs with: a subroutine, and what is asked of it.

    ``eta`` is the failure probability allowed to it. The bound on it holds although up to
    ``liars`` of its rewards lie.
    """

    algorithm: str
    n_arms: int
    epsilon: float
    eta: float
    options: Mapping[str, str | float]
    liars: int = 0

    @cached_property
    def rule(self) -> Rule:
        """The constants of the subroutine."""
        return get_algorithm(self.algorithm).rule(
            n_arms=self.n_arms,
            epsilon=self.epsilon,
            eta=self.eta,
            options=self.options,
            liars=self.liars,
        )


class Learner:
    """One run of a subroutine.

    >>> learner = Learner(LearnerSettings("naive", n_arms=3, epsilon=0.25, eta=0.1, options={}))
    >>> arm = learner.activate(u=0.5)
    >>> learner.reward(1.0)
    []
    >>> learner.remaining, learner.best
    ((0, 1, 2), None)
    """

    def __init__(self, settings: LearnerSettings) -> None:
        self.settings = settings
        self.algorithm: Algorithm = get_algorithm(settings.algorithm)
        self.rule = settings.rule
        self.state = self.algorithm.new_state(settings.n_arms)
        self.resets = 0
        self.epoch = 0
        self.pending: int | None = None
        """The arm that has been played and not yet rewarded."""
        self._before = NOTHING  # what choosing an arm changes
        self._out = [0] * settings.n_arms

    @property
    def remaining(self) -> tuple[int, ...]:
        """The arms not yet eliminated.

        Paper: K^n(l^n).
        """
        return tuple(k for k, alive in enumerate(self.state.alive) if alive)

    @property
    def best(self) -> int | None:
        """The one arm left, or None while there are several."""
        return self.state.alive.index(1) if self.state.ints[COUNT] == 1 else None

    def activate(self, u: float, arm: int | None = None) -> int:
        """Play one arm, drawn with the uniform number ``u``; or the arm that is given.

        Paper: Algorithm 1, line 4.
        """
        if self.pending is not None:
            raise LocalProtocolError(
                f"arm {self.pending} has been played and awaits its reward.\n"
                "Call reward(x) first, or abandon() if the reward will never come."
            )
        if not 0.0 <= u < 1.0:
            raise LocalProtocolError(f"u={u!r} must be in [0, 1).\nPass random.random().")
        self._before = (list(self.state.ints), list(self.state.floats))
        self.pending = int(self.algorithm.choose(self.rule, self.state, u)) if arm is None else arm
        return self.pending

    def reward(self, x: float) -> list[int]:
        """Learn what the pending arm paid; returns the arms this eliminates.

        Paper: Algorithm 1, lines 5-6; Algorithm 2, line 13.
        """
        if self.pending is None:
            raise LocalProtocolError(
                "No played arm awaits a reward.\nCall activate(u) first, and reward(x) once."
            )
        if not is_reward(x):
            raise LocalProtocolError(
                "A reward must be a number in [0, 1].\nScale it before passing it on."
            )
        arm, self.pending, self._before = self.pending, None, NOTHING
        n_out = self.algorithm.observe(self.rule, self.state, arm, float(x), self._out)
        if n_out == RESET:
            self.resets += 1
            self.epoch = 0
            return []
        if n_out:
            self.epoch += 1
        return self._out[:n_out]

    def abandon(self) -> None:
        """Forget a played arm whose reward will never come, as if it had not been played."""
        if self.pending is None:
            raise LocalProtocolError("No played arm awaits a reward.\nThere is nothing to abandon.")
        self.state.ints[:], self.state.floats[:] = self._before
        self.pending, self._before = None, NOTHING

    def restart(self) -> None:
        """Begin again with all arms."""
        start(self.state)
        self.epoch = 0

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here."""
        return {
            "eta": self.rule.eta,
            "state": {name: list(buffer) for name, buffer in self.state._asdict().items()},
            "resets": self.resets,
            "epoch": self.epoch,
            "pending": self.pending,
            "before": [list(buffer) for buffer in self._before],
        }

    def restored(self, fields: dict[str, Any]) -> "Learner":
        """A learner with the same settings that goes on where ``to_dict`` was called."""
        learner = Learner(replace(self.settings, eta=fields["eta"]))
        for name, kept in learner.state._asdict().items():
            kept[:] = fields["state"][name]
        learner.resets = fields["resets"]
        learner.epoch = fields["epoch"]
        learner.pending = fields["pending"]
        ints, floats = fields["before"]
        learner._before = (ints, floats)
        return learner
