"""The contract of a scheme: everything that depends on how a group of devices decides.

A scheme is a frozen dataclass. Its fields are its parameters, ``[scheme]`` in a specification;
its methods make the parts that the rest of the project drives without knowing which scheme it is:

* ``Player``, the device half: activations and rewards in, messages out, no I/O;
* ``Tally``, the counting half: messages in the board's order in; a status, an answer and a small
  public view out. Boards store and ask it, pages draw what it gives;
* ``check``, ``bounds`` and ``promises``: what it asks for and what it is worth;
* what a planner asks before a scheme is chosen (``protocol.planning``).

``devote.schemes`` has the schemes themselves. A new one is a file there, or anywhere that calls
``register_scheme``; ``tests/contracts`` runs every check on it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from devote.checks import Checks
from devote.errors import did_you_mean
from devote.protocol.errors import SpecError
from devote.protocol.messages import Message, kind_of
from devote.protocol.planning import Plannable
from devote.protocol.promises import Bound, Case, Promise

if TYPE_CHECKING:
    from devote.protocol.player import Player
    from devote.protocol.spec import ExperimentSpec

Status: TypeAlias = Literal["open", "agreed", "stalled"]
RunStatus: TypeAlias = Literal["agreed", "stalled", "unfinished"]

Estimates: TypeAlias = list[tuple[float, float, float] | None]
"""For each arm its mean and the ends of its interval, None where nothing is known of it."""

check = Checks(SpecError)


def misplaced(spec: "ExperimentSpec", message: Message) -> str | None:
    """Why a message does not belong to an experiment: another scheme's kind, or another name."""
    kind = kind_of(message)
    if kind.form not in spec.scheme.kinds:
        return (
            f"A {kind.name} was posted to {spec.name!r}, whose scheme "
            f"{spec.scheme.name} has no such message.\nDiscard it."
        )
    if message.experiment != spec.name:
        return (
            f"A message for experiment {message.experiment!r} was posted to "
            f"{spec.name!r}.\nPost each message to its own experiment."
        )
    return None


class Tally(ABC):
    """The messages of one experiment, folded in the board's order."""

    def __init__(self, spec: "ExperimentSpec") -> None:
        self.spec = spec

    def refusal(self, message: Message) -> str | None:
        """Why a message may not be posted now, or None if it may; nothing is changed."""
        return misplaced(self.spec, message) or self._refusal(message)

    def is_early(self, message: Message) -> bool:
        """Whether a message that is refused now may be taken once others have come.

        Where nothing keeps messages in one order, such a one is kept until then; of each voter
        there must not be many.
        """
        return False

    def _refusal(self, message: Message) -> str | None:
        """The scheme's own rules, for a message of its kinds."""
        return None

    @abstractmethod
    def add(self, message: Message) -> bool:
        """Take in a message that is not refused; returns whether it was new."""

    @abstractmethod
    def status(self, n_players: int | None = None) -> Status:
        """Whether the messages have settled on one arm, never will, or may yet."""

    @property
    @abstractmethod
    def answer(self) -> tuple[int, ...]:
        """The arms that may be the answer, the likeliest first; one once it is settled."""

    @property
    @abstractmethod
    def shared(self) -> tuple[int, ...]:
        """The arms that are still open to all."""

    def public(self, n_players: int | None = None) -> dict[str, Any]:
        """The tally in a few hundred bytes of JSON, for devices that do not read the log."""
        return {
            "status": self.status(n_players),
            "answer": list(self.answer),
            "shared": list(self.shared),
        }

    def estimates(self) -> Estimates | None:
        """Each arm's mean, with the ends of its interval; None where the scheme estimates none."""
        return None

    @abstractmethod
    def view(self) -> dict[str, Any]:
        """What the page shows, as JSON values.

        ``heading`` names what is counted, ``counts`` has it per arm, ``needed`` is the number
        that decides, and ``facts`` are pairs of a label and a text. A scheme may add

        * ``notes``: sentences that explain what is drawn;
        * ``progress``: lists of a label, how many there are, of how many or None, and a text;
        * ``leader``: the arm that is ahead, or None;
        * ``states``: a text for each arm, how it stands;
        * ``estimates``, as above, and ``answers_needed``, about how many messages decide, or None.
        """


@dataclass(frozen=True)
class Scheme(Plannable, ABC):
    """How a group decides; the fields of a subclass are its parameters.

    ``tally_form`` and ``player_form`` are its two halves, ``kinds`` its messages.
    ``by_message``: the group has one answer, which follows from them. ``why_order``: why the answer
    depends on the order of the board; empty where it does not. ``reads_tally``: devices read the
    small public form of the tally, not the log of messages. ``deployable``: devices can run it.
    ``remedies`` says of each parameter what it is, for errors and ``--help``. ``sends`` names what
    is broadcast; ``sentences`` tells the events of a run, by kind, with ``{player}``, ``{arm}`` and
    ``{term}``.
    """

    name: ClassVar[str]
    paper_name: ClassVar[str]
    summary: ClassVar[str]
    tally_form: ClassVar[type[Tally]]
    player_form: ClassVar[type["Player"]]
    kinds: ClassVar[tuple[type, ...]] = ()
    by_message: ClassVar[bool] = True
    why_order: ClassVar[str] = ""
    reads_tally: ClassVar[bool] = False
    deployable: ClassVar[bool] = True
    default_eta: ClassVar[float] = 0.9
    default_algorithm: ClassVar[str] = "ser3"
    remedies: ClassVar[Mapping[str, str]] = {}
    sends: ClassVar[str] = "messages"
    sentences: ClassVar[Mapping[str, str]] = {}

    @property
    def needs_order(self) -> bool:
        """Whether the answer depends on the order of the board, so that devices need a server."""
        return bool(self.why_order)

    @property
    def noisy(self) -> bool:
        """Whether players blur what they say, and so need noise."""
        return False

    @property
    def reply_after(self) -> float | None:
        """Seconds after a choice at which its reward must be there, else it counts as 0.

        What the play gives rise to is sent a little later, at a moment that does not depend on
        the reward. None: at once.
        """
        return None

    @property
    def subroutine_liars(self) -> int:
        """Up to how many of the rewards that a learner is fed may be lies."""
        return 0

    def device_algorithm(self, spec: "ExperimentSpec") -> str:
        """The subroutine that a player runs by itself."""
        return spec.algorithm

    def check(self, spec: "ExperimentSpec") -> None:  # most refuse nothing
        """Refuse a specification with which the scheme cannot work."""
        return

    def fewest_players(self, spec: "ExperimentSpec") -> int:
        """The fewest players with which the scheme can work."""
        return 1

    def check_players(self, spec: "ExperimentSpec", n_players: Any) -> None:
        """Refuse a number of players with which the scheme cannot work."""
        n = check.whole("n_players", n_players, least=1, remedy="Somebody must play.")
        if n < self.fewest_players(spec):
            raise SpecError(self.too_few(spec, n))

    def too_few(self, spec: "ExperimentSpec", n_players: int) -> str:
        """Why so few players cannot decide, and what to do."""
        fewest = self.fewest_players(spec)
        return (
            f"{self.name} needs at least {fewest} players, but there are {n_players}.\n"
            f"Use {fewest} players or more."
        )

    def subroutine_eta(self, spec: "ExperimentSpec", n_players: int | None) -> float:
        """The failure probability handed to each learner."""
        return spec.eta

    def subroutine_epsilon(self, spec: "ExperimentSpec") -> float:
        """The epsilon handed to each learner."""
        return spec.epsilon

    def votes_needed(self, spec: "ExperimentSpec") -> int | None:
        """Messages that decide on an arm, None where none do."""
        return None

    def tally(self, spec: "ExperimentSpec") -> Tally:
        """An empty tally, a ``tally_form``."""
        return self.tally_form(spec)

    def player(self, spec: "ExperimentSpec", voter: str, n_players: int | None = None) -> "Player":
        """A device half, a ``player_form``."""
        return self.player_form(spec, voter, self.subroutine_eta(spec, n_players))

    def players(self, spec: "ExperimentSpec", n_players: int) -> list["Player"]:
        """The players of a simulated run, by index."""
        return [self.player(spec, str(n), n_players) for n in range(n_players)]

    def standing(
        self, players: Sequence["Player"], n_players: int
    ) -> tuple[RunStatus, tuple[int, ...]]:
        """How a simulated run stands, in which all messages have reached everybody.

        Agreed once every player holds the settled arm.
        """
        tally = players[0].tally
        status, shared = tally.status(n_players), tally.shared
        if status == "agreed" and all(player.remaining == shared for player in players):
            return "agreed", tally.answer
        return ("stalled" if status == "stalled" else "unfinished"), tally.answer

    def is_over(self, players: Sequence["Player"], n_players: int) -> bool:
        """Whether a simulated run has ended, with an answer or without; asked after each pull.

        Not while the tally is open: the answer is then not looked up.
        """
        is_open = players[0].tally.status(n_players) == "open"
        return not is_open and self.standing(players, n_players)[0] != "unfinished"

    def message_bound(self, spec: "ExperimentSpec") -> int | None:
        """The most messages ever broadcast, in each term; None where nothing bounds them."""
        return None

    def can_stall(self, case: Case) -> bool:
        """Whether a run may end without one answer although everybody has spoken."""
        return True

    def why_no_sample_bound(self, case: Case) -> str:
        """Why Theorem 2 does not bound the samples of this case; empty where it does."""
        return f"Theorem 2 is about Decentralized Elimination, not about {self.name}."

    def facts(self, spec: "ExperimentSpec") -> dict[str, int]:
        """Numbers to show in a plan beside the votes needed, by name."""
        return {}

    @abstractmethod
    def bounds(self, case: Case) -> tuple[Bound, ...]:
        """What can be said of the probability of a wrong answer, the boldest first."""

    @abstractmethod
    def promises(self, case: Case) -> tuple[Promise, ...]:
        """Every promise with its standing."""

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, as JSON values."""
        return {"name": self.name, **asdict(self)}


SCHEMES: dict[str, type[Scheme]] = {}

S = TypeVar("S", bound=type[Scheme])


def register_scheme(scheme: S) -> S:
    """Make a scheme known by its name, from anywhere."""
    SCHEMES[scheme.name] = scheme
    return scheme


def make_scheme(given: object = None) -> Scheme:
    """The scheme that is asked for: as a scheme, by its name, or as a table.

    The table has a name and parameters; without a name it is the first scheme registered.
    """
    if isinstance(given, Scheme):
        return given
    first = next(iter(SCHEMES))
    values = dict(given) if isinstance(given, Mapping) else {"name": given or first}
    name = values.pop("name", first)
    if not isinstance(name, str) or name not in SCHEMES:
        raise SpecError(
            f"scheme={name!r} is not known.\n{did_you_mean(name, SCHEMES)}"
            f"Use one of: {', '.join(SCHEMES)}."
        )
    form = SCHEMES[name]
    known = [item.name for item in fields(form)]
    for parameter in values:
        if parameter not in known:
            owner = [s.name for s in SCHEMES.values() if parameter in s.__dataclass_fields__]
            whose = f", but of {' and '.join(owner)}" if owner else ""
            raise SpecError(
                f"{parameter!r} is not a parameter of {name}{whose}.\n"
                f"{did_you_mean(parameter, known)}{name} has: {', '.join(known) or 'none'}."
            )
    return form(**values)
