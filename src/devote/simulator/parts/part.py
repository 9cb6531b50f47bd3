"""``Part``: a scheme in the compiled simulator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from devote.protocol import ExperimentSpec
from devote.rules import Rule, State
from devote.simulator.workspace import Workspace

Subroutine: TypeAlias = tuple[Rule, Callable[..., int], Callable[..., int], Callable[..., bool]]
"""In a compiled loop: a rule's constants, and the rule's ``choose``, ``observe`` and ``asks``."""


class NoConstants(NamedTuple):
    """For schemes without constants; a compiled loop takes no empty tuple."""

    nothing: int = 0


class Ending(NamedTuple):
    """How a trial stood at its end; ``held[k]`` says whether some learner still has arm k."""

    code: int
    n_players: int
    tally: Any
    by_arm: Any
    shared: Any
    held: Any


def do_nothing(work: Workspace, state: State, player: int, what: float) -> None:
    """Where a scheme does nothing at this point."""


def choose_alone(sub: Subroutine, work: Workspace, state: State, player: int, u: float) -> int:
    """The subroutine picks the arm."""
    return sub[1](sub[0], state, u)


def observe_alone(
    sub: Subroutine,
    work: Workspace,
    state: State,
    player: int,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """The subroutine learns from the reward."""
    return sub[2](sub[0], state, arm, reward, work.out)


def no_constants(spec: ExperimentSpec, n_players: int) -> tuple[Any, ...]:
    """Where a scheme has none."""
    return NoConstants()


def nothing_to_enter(setup: Any, view: Any, player: Any, voted: Any) -> None:
    """Where nothing happens at the beginning of a pass."""


def nothing_before(
    setup: Any, view: Any, state: Any, player: Any, active: int, noise: float, t: float
) -> None:
    """Where a player does nothing before it plays."""


def nothing_after(
    setup: Any, view: Any, state: Any, player: Any, voted: Any, active: int, n: int, t: float
) -> None:
    """Where nothing follows from an elimination."""


def nothing_needed(setup: Any, trial: Any, tally: Any, shared: Any, slot: int) -> int:
    """Where no messages make a decision."""
    return 0


def nothing_applied(setup: Any, trial: Any, tally: Any, shared: Any) -> None:
    """Where nothing follows from messages."""


@dataclass(frozen=True)
class Passes:
    """A scheme's part of the passes engine: what stands for the placeholders of ``passes``.

    ``can_stall`` says of the constants and N whether all may have spoken without an answer,
    ``messages`` of the constants and K about how many messages come between two decisions.
    ``alone``: nobody sends anything.
    """

    enter: Callable[..., None] = nothing_to_enter
    wake: Callable[..., None] = nothing_before
    learn: Callable[..., None] = nothing_after
    needed: Callable[..., int] = nothing_needed
    apply: Callable[..., None] = nothing_applied
    can_stall: Callable[[Any, int], bool] = lambda constants, n_players: False
    messages: Callable[[Any, int], int] = lambda constants, n_arms: 0
    alone: bool = False


@dataclass(frozen=True)
class Part:
    """A scheme's part of the event loop, and of the passes where it has one.

    ``wake`` runs at each activation, before the play; ``learn`` when the play has eliminated arms
    or reset the subroutine; ``ended`` after each pull. ``winners`` is plain Python: the arms of an
    ``Ending``, the likeliest first. A run that has ended AGREED with several arms has stalled.

    ``group`` and ``player`` name the scheme's own fields of these records, ``events`` the kinds
    that ``note`` writes, ``sentences`` a text for them with ``{player}``, ``{arm}`` and ``{term}``.
    ``constants`` gives the named tuple that is ``work.scheme``.

    ``one_learner``: all players share one. A scheme with its own ``choose`` and ``observe`` picks
    the arm and takes the reward itself, and calls the subroutine when it likes. ``arm_words`` is
    how many numbers ``by_arm`` has for each arm. ``keeps_log``: ``voted`` has a row for each
    message about an arm, and grows; each player sends ``messages_of_a_player`` at most. ``passes``:
    what the passes engine needs, see ``passes``.
    """

    ended: Callable[[Workspace], int]
    winners: Callable[[Ending], Sequence[int]]
    wake: Callable[..., None] = do_nothing
    learn: Callable[..., None] = do_nothing
    group: tuple[str, ...] = ()
    player: tuple[str, ...] = ()
    events: tuple[str, ...] = ("elimination",)
    sentences: Mapping[str, str] = field(default_factory=dict)
    constants: Callable[[Any, int], tuple[Any, ...]] = no_constants
    one_learner: bool = False
    choose: Callable[..., int] = choose_alone
    observe: Callable[..., int] = observe_alone
    arm_words: int = 1
    keeps_log: bool = False
    messages_of_a_player: Callable[[Any], int] = lambda constants: 1
    passes: Passes | None = None
