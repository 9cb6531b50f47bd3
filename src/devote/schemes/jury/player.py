"""A player who may sit in the jury.

It claims a seat when it is activated for the ``seat_after``-th time, before it plays, so that
nothing arms pay, nor when, can choose the jury. A juror learns as everybody does: alone. When it
is down to one arm it says which; with ``privacy`` it says so through randomized response, and at
its ``vote_after``-th activation whatever it has learned, so that the moment says nothing.
"""

from typing import TYPE_CHECKING, Any, cast

from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.spec import ExperimentSpec
from devote.rules import merge
from devote.rules.randomizer import blur
from devote.schemes.jury.messages import Claim, Pick
from devote.schemes.jury.tally import Verdict

if TYPE_CHECKING:
    from devote.schemes.jury.scheme import Jury


class Juror(Player):
    """One player; a juror once its claim is among the first J on the board."""

    tally: Verdict

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        super().__init__(spec, voter, n_players)
        self._jury = cast("Jury", spec.scheme)
        self._claimed = False
        self._picked = False

    @property
    def is_juror(self) -> bool:
        """Whether the board shows this player a seat."""
        return self.voter in self.tally.picks

    def still_wants(self, message: Message) -> bool:
        """A claim that comes after all seats are taken is moot, and so is a second pick."""
        if isinstance(message, Claim):
            return self.is_juror or not self.tally.is_full
        return self.tally.picks.get(self.voter, 0) is None

    def recall(self, message: Message) -> None:
        """A claim or a pick that is on the board has been made, and is not made again."""
        self._claimed = True
        self._picked = self._picked or isinstance(message, Pick)

    def _read(self) -> None:
        if self.tally.verdict is not None:
            self.conflicts += merge(self.learner.state, self.tally.shared_mask)

    def _wake(self, noise: float) -> None:
        if self.tally.verdict is not None or self._picked:
            return
        if not self.is_juror:
            if (
                not self._claimed
                and not self.tally.is_full
                and self.activations >= self._jury.seat_after
            ):
                self._claimed = True
                self._say([Claim(self.spec.name, self.voter)])
        elif self._jury.privacy is None:
            self._pick_if_done()
        elif self.activations >= self._jury.vote_after:
            self._pick(self._blurred(noise))

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        if eliminated and self._jury.privacy is None and self.tally.verdict is None:
            self._pick_if_done()

    def _pick_if_done(self) -> None:
        if self.is_juror and not self._picked and self.best is not None:
            self._pick(self.best)

    def _pick(self, arm: int) -> None:
        self._picked = True
        self._say([Pick(self.spec.name, arm, self.voter)])

    def _blurred(self, noise: float) -> int:
        n_arms = self.spec.n_arms
        if self.best is None:
            return int(noise * n_arms)
        return blur(self.best, noise, self._jury.truths(n_arms), n_arms)

    def _own(self) -> dict[str, Any]:
        return {"claimed": self._claimed, "picked": self._picked}

    def _restore(self, own: dict[str, Any]) -> None:
        self._claimed, self._picked = own["claimed"], own["picked"]
