"""Each player learns alone and sends nothing: the paper's 1-privacy baseline.

Paper: section 5.1.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from devote.protocol.learner import LearnerSettings
from devote.protocol.messages import Message
from devote.protocol.planning import Bound, Case, Guarantees, Promise
from devote.protocol.player import Player
from devote.protocol.scheme import About, Scheme, Status, Tally
from devote.protocol.spec import ExperimentSpec
from devote.schemes.lone import one_device, right_answer, why_unproved


class NoTally(Tally):
    """The tally of a scheme without messages: nothing is counted."""

    def add(self, message: Message) -> bool:
        """There is nothing to take in."""
        return False

    def status(self, n_players: int | None = None) -> Status:
        """Open: each player knows for itself when it is done."""
        return "open"

    @property
    def shared(self) -> tuple[int, ...]:
        """All arms."""
        return tuple(range(self.spec.n_arms))

    answer = shared

    def view(self) -> dict[str, Any]:
        """No counts."""
        return {"heading": "", "counts": [], "needed": None, "facts": []}


@dataclass(frozen=True)
class Isolated(Scheme):
    """Each player learns alone at ``delta/N`` and sends nothing.

    Paper: section 5.1, 1-privacy.
    """

    name: ClassVar[str] = "isolated"
    about: ClassVar[About] = About(
        summary="each player learns alone and sends nothing",
        source="1-privacy",
        sends="nothing",
        by_message=False,
        deployable=False,
    )
    costs: ClassVar[tuple[Promise, ...]] = (
        Promise("few messages", "proved", "Nothing is ever sent."),
        Promise("one answer", "claimed", "Players may end with different arms."),
        Promise("privacy", "proved", "Nothing leaves a device."),
    )

    def tally(self, spec: ExperimentSpec) -> NoTally:
        """A tally that counts nothing."""
        return NoTally(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Player:
        """A player who sends nothing."""
        return Player(spec, voter, n_players)

    def learner(self, spec: ExperimentSpec, n_players: int | None = None) -> LearnerSettings:
        """At ``delta/N``; with N unknown, what one device alone would be allowed."""
        return replace(super().learner(spec), eta=spec.delta / (n_players or 1))

    def guarantees(self, case: Case) -> Guarantees:
        """The subroutine's own, and what a scheme without messages costs."""
        eta = self.learner(case.spec, case.n_players).eta
        text = "Nothing is counted: the subroutine's own guarantee, "
        bound = Bound("proved", case.spec.delta, f"{text}which is proved.")
        if why := why_unproved(case, eta):
            bound = Bound("claimed", case.spec.delta, f"{text}which is not proved here: {why}.")
        return replace(
            super().guarantees(case),
            bounds=(bound,),
            promises=(right_answer((bound,)), one_device(case, eta), *self.costs),
        )


def lone_spec(spec: ExperimentSpec) -> ExperimentSpec:
    """The same experiment for one device alone, to which the vote's ``eta`` is handed."""
    return spec.with_(algorithm=spec.algorithm, delta=spec.eta, eta=spec.eta, scheme=Isolated())
