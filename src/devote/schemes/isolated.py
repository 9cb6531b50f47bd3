"""Each player learns alone and says nothing: the paper's 1-privacy baseline.

Paper: section 5.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from devote.protocol.messages import Message
from devote.protocol.player import Player
from devote.protocol.promises import Bound, Case, Promise
from devote.protocol.scheme import RunStatus, Scheme, Status, Tally
from devote.protocol.spec import ExperimentSpec
from devote.rules import COUNT
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
    """Each player learns alone at ``delta/N`` and says nothing.

    Paper: section 5.1, 1-privacy.
    """

    name: ClassVar[str] = "isolated"
    paper_name: ClassVar[str] = "1-privacy"
    summary: ClassVar[str] = "each player learns alone and says nothing"
    tally_form: ClassVar[type[Tally]] = NoTally
    player_form: ClassVar[type[Player]] = Player
    by_message: ClassVar[bool] = False
    deployable: ClassVar[bool] = False
    costs: ClassVar[tuple[Promise, ...]] = (
        Promise("few messages", "proved", "Nothing is ever sent."),
        Promise("one answer", "claimed", "Players may end with different arms."),
        Promise("privacy", "proved", "Nothing leaves a device."),
    )
    sends: ClassVar[str] = "nothing"

    def subroutine_eta(self, spec: ExperimentSpec, n_players: int | None) -> float:
        """``delta/N``; with N unknown, what one device alone would be allowed."""
        return spec.delta / (n_players or 1)

    def standing(
        self, players: Sequence[Player], n_players: int
    ) -> tuple[RunStatus, tuple[int, ...]]:
        """Agreed once all hold the same arm, stalled once each holds one but they differ."""
        winners = tuple(sorted({arm for player in players for arm in player.remaining}))
        if any(player.best is None for player in players):
            return "unfinished", winners
        return ("agreed" if len(winners) == 1 else "stalled"), winners

    def is_over(self, players: Sequence[Player], n_players: int) -> bool:
        """Once each holds one arm: asked after each pull, and told by the first who does not."""
        return all(player.learner.state.ints[COUNT] == 1 for player in players)

    def bounds(self, case: Case) -> tuple[Bound, ...]:
        """The subroutine's own guarantee."""
        text = "Nothing is counted: the subroutine's own guarantee, "
        if why := why_unproved(case, self.subroutine_eta(case.spec, case.n_players)):
            return (Bound("claimed", case.spec.delta, f"{text}which is not proved here: {why}."),)
        return (Bound("proved", case.spec.delta, f"{text}which is proved."),)

    def promises(self, case: Case) -> tuple[Promise, ...]:
        """Every promise with its standing."""
        return (
            right_answer(self.bounds(case)),
            one_device(case, self.subroutine_eta(case.spec, case.n_players)),
            *self.costs,
        )


def lone_spec(spec: ExperimentSpec) -> ExperimentSpec:
    """The same experiment for one device alone, to which the vote's ``eta`` is handed."""
    return spec.with_(algorithm=spec.algorithm, delta=spec.eta, eta=spec.eta, scheme=Isolated())
