"""``Part``: a scheme in the compiled simulator, for the event loop and for passes alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from devote.protocol import ExperimentSpec
from devote.rules import Rule, State

Subroutine: TypeAlias = tuple[Rule, Callable[..., int], Callable[..., int], Callable[..., bool]]
"""In a compiled loop: a rule's constants, and the rule's ``choose``, ``observe`` and ``asks``."""


class NoConstants(NamedTuple):
    """For schemes without constants; a compiled loop takes no empty tuple."""

    nothing: int = 0


class Ending(NamedTuple):
    """How a trial stood when it was over or cut short: the numbers of its group, and its arrays.

    ``held[k]`` says whether some learner still has arm k. ``player_answers`` has each player's own
    answer where players send nothing, and is empty elsewhere.
    """

    group: dict[str, int]
    tally: Any
    by_arm: Any
    shared: Any
    held: Any
    first_vote: Any
    player_answers: Any = ()


def no_constants(spec: ExperimentSpec, n_players: int) -> tuple[Any, ...]:
    """Where a scheme has none."""
    return NoConstants()


# The functions of a subroutine, as the engines name them: ``compiling`` puts the run's in place.


def choose(rule: Rule, state: State, u: float) -> int:
    """Which arm is played."""
    raise NotImplementedError


def observe(rule: Rule, state: State, arm: int, reward: float, out: Any) -> int:
    """Learn from a reward; returns how many arms are eliminated, which are in ``out``, or RESET."""
    raise NotImplementedError


def asks(rule: Rule, state: State, arm: int) -> bool:
    """Whether further rewards of an arm are wanted."""
    raise NotImplementedError


# The functions of a scheme, as the engines name them; these serve schemes that have none of theirs.


def enter(setup: Any, view: Any, player: Any, voted: Any) -> None:
    """For each player, when the shared arms have changed and at the beginning of each pass."""


def wake(
    setup: Any, view: Any, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """What a player does before it plays, at this activation of its."""


def play(sub: Subroutine, view: Any, state: State, player: Any, u: float) -> int:
    """Which arm is played."""
    return sub[1](sub[0], state, u)


def take(
    sub: Subroutine, view: Any, state: State, player: Any, arm: int, reward: float, noise: float
) -> int:
    """Learn from a reward; returns how many arms are eliminated, or RESET."""
    return sub[2](sub[0], state, arm, reward, view.out)


def learn(
    setup: Any, view: Any, state: State, player: Any, voted: Any, active: int, n: int, t: float
) -> None:
    """What follows when a play has eliminated n arms, ``view.out``."""


def reset(setup: Any, view: Any) -> None:
    """What follows when a player's subroutine has reset itself."""


def needed(setup: Any, trial: Any, tally: Any, shared: Any, slot: int) -> int:
    """How many more messages of a slot make a decision; 0 if none do."""
    return 0


def apply(setup: Any, trial: Any, tally: Any, shared: Any) -> None:
    """What follows from the messages."""


@dataclass(frozen=True)
class Part:
    """A scheme's functions, which stand for those of this module.

    A message is recorded by its slot: an arm, or one of two more, whose meaning is the scheme's;
    the last one counts no messages. ``winners`` is plain Python: the arms of an ``Ending``, the
    likeliest first. A run that has ended AGREED with several arms has stalled.

    ``constants`` gives the named tuple that is ``setup.scheme``. ``can_stall`` says of it and N
    whether all may have voted without an answer; ``messages``, of it and K, about how many messages
    come between two decisions. ``events`` names an elimination, a message about an arm and any
    other message, ``sentences`` has a text for them with ``{player}``, ``{arm}`` and ``{term}``.
    ``alone``: nobody sends anything. ``in_passes``: the passes engine can run it.

    For the event loop only: ``reset``, ``play`` and ``take``; a scheme with its own of these picks
    the arm and takes the reward itself, and calls the subroutine when it likes. ``one_learner``:
    all players share one. ``group`` and ``player`` name fields
    of its own in these records, ``by_arm`` says how many rows and columns the table of that name
    has. ``keeps_log``: ``voted`` has a row of ``log_width`` for each message about an arm, and
    grows; each player sends ``messages_of_a_player`` at most. ``left_by_group(setup, tables)``:
    groups of players have answers of their own; the arms that may still be that of each.
    """

    winners: Callable[[Ending], Sequence[int]]
    enter: Callable[..., None] = enter
    wake: Callable[..., None] = wake
    learn: Callable[..., None] = learn
    needed: Callable[..., int] = needed
    apply: Callable[..., None] = apply
    constants: Callable[[Any, int], tuple[Any, ...]] = no_constants
    can_stall: Callable[[Any, int], bool] = lambda constants, n_players: False
    messages: Callable[[Any, int], int] = lambda constants, n_arms: 0
    events: tuple[str, ...] = ("elimination",)
    sentences: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    in_passes: bool = False
    reset: Callable[..., None] = reset
    one_learner: bool = False
    play: Callable[..., int] = play
    take: Callable[..., int] = take
    group: tuple[str, ...] = ()
    player: tuple[str, ...] = ()
    by_arm: Callable[[Any, int], tuple[int, int]] = lambda constants, n_arms: (n_arms, 1)
    keeps_log: bool = False
    log_width: Callable[[Any, int], int] = lambda constants, n_arms: n_arms
    messages_of_a_player: Callable[[Any], int] = lambda constants: 1
    left_by_group: Callable[[Any, Any], list[list[int]]] | None = None
