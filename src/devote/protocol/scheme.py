"""The contract of a scheme: everything that depends on how a group of devices decides.

A scheme is a frozen dataclass. Its fields are its parameters, ``[scheme]`` in a specification.
Three readers use it, each through a small interface:

* a device drives a ``Player``: activations and rewards in, messages out, no I/O. ``sending`` is
  when and how the device sends them, ``learner`` what its subroutine runs with;
* a board folds messages into a ``Tally``, in the board's order, and asks it for a status, an
  answer, a small public form and a view for the page;
* a planner asks for ``guarantees`` (bounds and promises), ``suited`` and ``planning``, before
  anything is deployed (``protocol.planning``).

``devote.schemes`` has the schemes themselves. A new one is a file there, or anywhere that calls
``register_scheme``; ``check_scheme`` names what is wrong with it, and ``docs/your_own_scheme.md``
is the guide. What only the simulator needs of a scheme is in ``devote.simulator.parts``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from devote.checks import Checks
from devote.errors import did_you_mean
from devote.protocol.errors import SpecError
from devote.protocol.learner import LearnerSettings
from devote.protocol.messages import Message, kind_of
from devote.protocol.planning import Case, Guarantees, Planning, Wish

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
    if kind.form not in spec.scheme.about.messages:
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
    """The messages of one experiment, folded in the board's order.

    ``withdrawn`` are the arms that the operator has withdrawn, in order; a scheme that takes a
    ``Withdrawal`` has a proof for what is left.
    """

    withdrawn: Sequence[int] = ()

    def __init__(self, spec: "ExperimentSpec") -> None:
        self.spec = spec

    @property
    def mismatch(self) -> str | None:
        """What the messages show to be against an assumption of the proofs; None if nothing."""
        return None

    def case(self, n_players: int | None = None) -> Case:
        """The case to judge promises by, with what the messages show."""
        return Case(self.spec, n_players, broken=self.mismatch or "", withdrawn=len(self.withdrawn))

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

    def differences(self, arm: int) -> Estimates | None:
        """By how much each arm is better than this one, with the ends of its interval."""
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
        * ``estimates``, as above, and ``answers_needed``, about how many messages decide, or None;
        * ``mismatch``: why nothing is proved of this experiment any more, a sentence, or None;
        * ``segments``: of each its ``name``, ``status``, ``leader`` and ``answer`` (an arm or
          None), ``share`` of users, ``progress`` and ``estimates`` as above.
        """


@dataclass(frozen=True, kw_only=True)
class About:
    """What is the same for every experiment with a scheme.

    ``source`` is its name in the paper, or where it comes from. ``messages`` are the kinds it
    sends, ``sends`` a word for them, ``parameters`` a sentence on each parameter, for errors and
    ``--help``. ``by_message``: the group has one answer, which follows from the messages.
    ``why_order``: why the answer depends on the order of the board, so that devices need a server;
    empty where it does not. ``reads_tally``: devices read the small public form of the tally, not
    the log of messages. ``deployable``: devices can run it.
    """

    summary: str
    source: str
    messages: tuple[type, ...] = ()
    sends: str = "messages"
    parameters: Mapping[str, str] = field(default_factory=dict)
    default_algorithm: str = "ser3"
    default_eta: float = 0.9
    by_message: bool = True
    why_order: str = ""
    reads_tally: bool = False
    deployable: bool = True

    @property
    def needs_order(self) -> bool:
        """Whether the answer depends on the order of the board."""
        return bool(self.why_order)


@dataclass(frozen=True)
class Sending:
    """How a device sends.

    ``noisy``: it blurs what it sends, and so needs noise. ``reply_after``: seconds after a choice
    at which its reward must be there, else it counts as 0; the message is sent a little later, at
    a moment that does not depend on the reward. None: it is sent at once. ``privacy``: the e of
    local differential privacy proved of all that a device sends; None if none is. ``segments``
    are the names of the kinds of users, of which a device's own is given to its ``activate``.
    """

    noisy: bool = False
    reply_after: float | None = None
    privacy: float | None = None
    segments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scheme(ABC):
    """How a group decides; the fields of a subclass are its parameters.

    A subclass gives ``name``, ``about``, ``tally`` and ``player``; all else has a default.
    """

    name: ClassVar[str]
    about: ClassVar[About]

    @abstractmethod
    def player(self, spec: "ExperimentSpec", voter: str, n_players: int | None = None) -> "Player":
        """A device's half of the scheme."""

    @abstractmethod
    def tally(self, spec: "ExperimentSpec") -> Tally:
        """The board's half of the scheme: an empty tally."""

    @property
    def sending(self) -> Sending:
        """How a device sends."""
        return Sending()

    def learner(self, spec: "ExperimentSpec", n_players: int | None = None) -> LearnerSettings:
        """What each learner runs with, of ``n_players`` if that is known."""
        return LearnerSettings(spec.algorithm, spec.n_arms, spec.epsilon, spec.eta, spec.options)

    def completed(self, spec: "ExperimentSpec") -> "Scheme":
        """The scheme with all parameters; a default may depend on the specification."""
        return self

    def check(self, spec: "ExperimentSpec") -> None:  # most refuse nothing
        """Refuse a specification with which the scheme cannot work."""
        return

    def votes_needed(self, spec: "ExperimentSpec") -> int | None:
        """Messages that decide on an arm, None where none do."""
        return None

    def fewest_players(self, spec: "ExperimentSpec") -> int:
        """The fewest players with which the scheme can work."""
        return 1

    def too_few(self, spec: "ExperimentSpec", n_players: int) -> str:
        """Why so few players cannot decide, and what to do."""
        fewest = self.fewest_players(spec)
        return (
            f"{self.name} needs at least {fewest} players, but there are {n_players}.\n"
            f"Use {fewest} players or more."
        )

    def guarantees(self, case: Case) -> Guarantees:
        """What is known before a run; by default that nothing is proved."""
        return Guarantees(
            no_sample_bound=f"Theorem 2 is about Decentralized Elimination, not about {self.name}."
        )

    @classmethod
    def suited(cls, wish: Wish) -> "ExperimentSpec":
        """The specification of this scheme that suits a wish; SpecError where none does.

        By default the scheme as it is, with the privacy and the liars asked for where it has such
        parameters.
        """
        own = {item.name for item in fields(cls)}
        asked = {"privacy": wish.privacy, "liars": wish.liars or None}
        given = {k: v for k, v in asked.items() if k in own and v is not None}
        if wish.liars and "liars" not in own:
            raise SpecError(
                f"nothing is proved where {wish.liars:,} devices lie.\n"
                "Use another scheme, or liars=0."
            )
        return wish.spec(cls(**given))

    def planning(self, spec: "ExperimentSpec") -> Planning:
        """What a planner needs to know beside the guarantees."""
        return Planning(enough_players=self.fewest_players(spec))

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
