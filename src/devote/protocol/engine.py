"""A scheme's part of the compiled loops: ``Engine``, and ``Clocks`` where players run alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.kernels import Rule, State, jitable
from devote.kernels.tables import HOLDING, Arena

Subroutine: TypeAlias = tuple[Rule, Callable[..., int], Callable[..., int], Callable[..., bool]]
"""In the compiled loop: a rule, and the algorithm's ``choose``, ``observe`` and ``asks``."""


@jitable
def do_nothing(arena: Arena, state: State, player: int, what: float) -> None:
    """Where a scheme has nothing to hear, or nothing to say."""


@jitable
def choose_alone(sub: Subroutine, arena: Arena, state: State, player: int, u: float) -> int:
    """The subroutine picks the arm."""
    return sub[1](sub[0], state, u)


@jitable
def observe_alone(
    sub: Subroutine, arena: Arena, state: State, player: int, arm: int, reward: float, noise: float
) -> int:
    """The subroutine learns from the reward."""
    return sub[2](sub[0], state, arm, reward, arena.out)


@jitable
def says_nothing(arena: Arena, state: State, player: int) -> bool:
    """Where nobody speaks before it plays."""
    return False


@jitable
def always_tells(arena: Arena, state: State, player: int, n_out: int) -> bool:
    """Where others learn of whatever a player eliminates."""
    return True


@jitable
def counts_nothing(arena: Arena, player: int) -> None:
    """Where a decision changes no count."""


@jitable
def due_any_time(arena: Arena) -> int:
    """Where nothing is known of the next decision."""
    return 0


@dataclass(frozen=True)
class Clocks:
    """What the independent-clock engine must know of a scheme; all functions are jitable.

    Between two decisions each player runs alone, in tables that hold its row only: ``wake``,
    ``learn`` and what they call look at the players who are in the tables, not at all N. They may
    change the player's own words, and add to counters. An activation that does more is *loud*,
    and loud activations are made one by one in the order of time. ``speaks``: whether ``wake``
    would be loud now; ``tells``: whether ``learn`` would. When one of them has raised
    ``tables.VERSION``, a decision has been made: ``take_stock`` brings a player's words up to date
    and adds its share to the counters named in ``counts``, which were set to 0 before. It is called
    for each player who has spoken of an arm, and for all once a single arm is shared. ``due``: how
    many loud activations it takes at least until they add up to the next decision; 0 if they have
    and it is not made yet, or if that is not known. It depends on ``tally`` and on the scheme's own
    counters. On a GPU players make them in passing, and what they add is added up in the order of
    time: until the next decision, it must not depend on those before. Nothing is in ``by_arm``, and
    quiet activations look at no table but ``shared``.

    ``rests``: whether a player does nothing but play its one arm until it hears of a decision.
    ``hears_once``: once a player has woken after a decision, nothing happens before it plays until
    the next one. ``silent``: nobody is ever loud.
    The run has ended once the counter ``awaited``, which quiet activations raise, is N.
    """

    rests: Callable[..., bool]
    speaks: Callable[..., bool] = says_nothing
    tells: Callable[..., bool] = always_tells
    take_stock: Callable[..., None] = counts_nothing
    due: Callable[..., int] = due_any_time
    awaited: int = HOLDING
    counts: tuple[int, ...] = (HOLDING,)
    hears_once: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Engine:
    """A scheme's part of the compiled loop; the functions are jitable and work on its tables.

    ``ended`` runs after each pull. ``ranks`` is plain Python: a number for each arm and whether it
    is among those that a run comes to, of which the lowest number is the likeliest. Both are asked
    of many runs at once when these are over: each table then has one more axis, its last, a place
    for each run. So they have no ``if``, and work on numbers as on arrays of them. A run that has
    ended AGREED with several arms has stalled.

    ``wake`` runs at each activation, before the play; ``learn`` when the play has eliminated arms
    or reset the subroutine. ``words`` is how many words each player has beside its learner
    (``kernels.tables``), ``events`` names what ``note`` writes.

    ``one_learner``: all players share one; ``apart``: each has words of its own all the same.
    A scheme with its own ``choose`` and ``observe`` picks the arm and takes the reward itself,
    and calls the subroutine, which it is handed first, when it likes. ``arm_words`` is
    how many words each arm has; ``keeps_log``: ``Arena.voted`` has a row for each message about
    an arm, and grows. ``clocks``: what lets players run alone between decisions, if they can.
    """

    ended: Callable[..., int]
    ranks: Callable[..., tuple[Any, Any]]
    wake: Callable[..., None] = do_nothing
    learn: Callable[..., None] = do_nothing
    words: int = 1
    events: tuple[str, ...] = ()
    one_learner: bool = False
    apart: bool = False
    choose: Callable[..., int] = choose_alone
    observe: Callable[..., int] = observe_alone
    arm_words: int = 1
    keeps_log: bool = False
    clocks: Clocks | None = None
