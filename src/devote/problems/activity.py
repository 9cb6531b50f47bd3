"""Who wakes: the distribution of the active player, and how the next one is drawn.

An activity gives every player its share of the events. All shares are positive, because a
player who never wakes never finishes. The next player is drawn by Walker's alias method, with
Vose's construction: N equal cells, each shared by at most two players, so that one uniform and
constant time serve any distribution.

Paper: section 2, the distribution P_x; Assumption 3.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from devote.checks import Checks
from devote.errors import DevoteError, did_you_mean


class ProblemError(DevoteError, ValueError):
    """A problem that cannot be posed: the message gives the value, the rule and the remedy."""


check = Checks(ProblemError)


def player_count(value: Any) -> int:
    """A number of players, at least 1."""
    return check.whole("n_players", value, least=1, remedy="With no player nobody ever wakes.")


class Activity(Protocol):
    """What an activity offers; add a class here and its name to ``ACTIVITIES``."""

    @property
    def spec(self) -> str:
        """The text that ``parse_activity`` turns back into an equal activity: name:numbers."""
        values = vars(self).values()
        numbers = [x for value in values for x in (value if isinstance(value, tuple) else [value])]
        return f"{type(self).__name__.lower()}:{','.join(map(repr, numbers))}".rstrip(":")

    def weights(self, n_players: int) -> list[float]:
        """The probability that each player is the next to wake; they add up to 1."""


def normalise(values: Iterable[Any]) -> list[float]:
    """Weights divided by their sum, all positive.

    Paper: Assumption 3, all players are active.

    >>> normalise([1, 3])
    [0.25, 0.75]
    """
    remedy = (
        "By Assumption 3 all players are active, else Algorithm 1 never stops: "
        "give each player a positive weight, or leave it out."
    )
    weights = [check.positive(f"weights[{n}]", value, remedy) for n, value in enumerate(values)]
    player_count(len(weights))
    # By the largest first: the sum of huge weights would overflow.
    scaled = [weight / max(weights) for weight in weights]
    total = math.fsum(scaled)
    shares = [weight / total for weight in scaled]
    if 0.0 in shares:  # beside the others it is too small for a float
        n = shares.index(0.0)
        check.positive(f"the share of weights[{n}]={weights[n]!r}", 0.0, remedy)
    return shares


def block_sizes(fractions: Sequence[float], n_players: int) -> list[int]:
    """How many players each block holds; every block holds at least one.

    A boundary falls on the nearest player, upward from halfway, so that an activity and
    groups with the same fractions are cut at the same player.

    Paper: section 5.1, problem 2, "two groups of sizes N/2".

    >>> block_sizes([0.5, 0.5], 32), block_sizes([0.5, 0.5], 5)
    ([16, 16], [3, 2])
    """
    n = player_count(n_players)
    ends = [math.floor(math.fsum(fractions[: j + 1]) * n + 0.5) for j in range(len(fractions))]
    ends[-1] = n
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    if min(sizes) < 1:
        raise ProblemError(
            f"n_players={n} cut by the fractions {', '.join(map(repr, fractions))} leaves a "
            "group without players.\nUse more players or larger fractions."
        )
    return sizes


@dataclass(frozen=True)
class Uniform(Activity):
    """Every player wakes equally often.

    Paper: section 5.1, problem 1.

    >>> Uniform().weights(4)
    [0.25, 0.25, 0.25, 0.25]
    """

    def weights(self, n_players: int) -> list[float]:
        """1/N for each."""
        n = player_count(n_players)
        return [1.0 / n] * n


@dataclass(frozen=True)
class Split(Activity):
    """The first ``fraction`` of the players generates ``share`` of the events.

    Paper: section 5.1, problem 2.

    >>> Split(fraction=0.5, share=0.75).weights(4)
    [0.375, 0.375, 0.125, 0.125]
    """

    fraction: float = 0.5
    share: float = 0.8

    def __post_init__(self) -> None:
        for name in ("fraction", "share"):
            object.__setattr__(self, name, check.probability(name, getattr(self, name)))

    def weights(self, n_players: int) -> list[float]:
        """Uniform within each of the two groups."""
        first, second = block_sizes([self.fraction, 1.0 - self.fraction], n_players)
        rest = 1.0 - self.share
        return normalise([self.share / first] * first + [rest / second] * second)


@dataclass(frozen=True)
class Weights(Activity):
    """One weight per player, in any unit: visits a day, for example.

    Paper: section 2, any distribution P_x.

    >>> Weights((1, 2, 1)).weights(3)
    [0.25, 0.5, 0.25]
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        normalise(self.values)
        object.__setattr__(self, "values", tuple(map(float, self.values)))

    def weights(self, n_players: int) -> list[float]:
        """The values over their sum."""
        n = player_count(n_players)
        if n != len(self.values):
            raise ProblemError(
                f"{len(self.values)} weights for n_players={n}.\nGive one weight per player."
            )
        return normalise(self.values)


@dataclass(frozen=True)
class Zipf(Activity):
    """Player n wakes in proportion to 1 / (n + 1)^exponent: a few heavy users, a long tail.

    >>> [round(w, 3) for w in Zipf(1).weights(3)]
    [0.545, 0.273, 0.182]
    """

    exponent: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", check.number("exponent", self.exponent))
        if self.exponent < 0.0:
            check.positive("exponent", self.exponent, "Use 0 for equal players, 1 for heavy users.")

    def weights(self, n_players: int) -> list[float]:
        """Zipf's law over the players."""
        n = player_count(n_players)
        return normalise(math.exp(-self.exponent * math.log(k)) for k in range(1, n + 1))


ACTIVITIES: dict[str, Callable[..., Activity]] = {
    "uniform": Uniform,
    "split": Split,
    "weights": lambda *values: Weights(values),
    "zipf": Zipf,
}
"""By the first word of a spec; each is called with the numbers after the colon."""

EXAMPLES = "uniform, split, split:0.5,0.8, zipf:1.1 or weights:1,2,3"


def parse_activity(spec: str) -> Activity:
    """The activity that a text names, as on the command line.

    >>> parse_activity("zipf:1.1")
    Zipf(exponent=1.1)
    >>> parse_activity("split") == parse_activity("split:0.5,0.8") == Split()
    True
    """
    name, _, text = spec.strip().partition(":")
    if name not in ACTIVITIES:
        hint = did_you_mean(name, ACTIVITIES)
        raise ProblemError(f"activity {spec!r} is not known.\n{hint}Write {EXAMPLES}.")
    try:
        return ACTIVITIES[name](*(float(word) for word in text.split(",") if text))
    except ProblemError:
        raise
    except (TypeError, ValueError):
        raise ProblemError(
            f"activity {spec!r}: the text after the colon is not the numbers that {name!r} takes.\n"
            f"Write {EXAMPLES}."
        ) from None


def alias_table(weights: Sequence[float]) -> tuple[list[float], list[int]]:
    """Cut each of N cells between its own player and one other, its alias.

    Player i owns the part of cell i below ``threshold[i]``, player ``alias[i]`` the rest. The
    same weights always give the same table, and equal weights whole cells.

    >>> alias_table([1, 1, 1])
    ([1.0, 1.0, 1.0], [0, 1, 2])
    >>> alias_table([1, 3])
    ([0.5, 1.0], [1, 1])
    """
    shares = normalise(weights)
    n = len(shares)
    total = math.fsum(shares)
    # n equal shares add up, rounded once, to share * n rounded once: their cells are exactly 1.
    cells = [share * n / total for share in shares]
    threshold = [1.0] * n
    alias = list(range(n))
    poor = [i for i in range(n) if cells[i] < 1.0]
    rich = [i for i in range(n) if cells[i] >= 1.0]
    while poor and rich:
        small, large = poor.pop(), rich[-1]
        threshold[small] = cells[small]
        alias[small] = large
        cells[large] = (cells[large] + cells[small]) - 1.0
        if cells[large] < 1.0:
            poor.append(rich.pop())
    # Whoever is left over owns a whole cell up to rounding.
    return threshold, alias


def pick(threshold: Sequence[float], alias: Sequence[int], u: float) -> int:
    """The player that a uniform u in [0, 1) wakes; ``int(u * N)`` when all are equal.

    Paper: Algorithm 1, line 2, "a player is sampled".
    """
    # u <= 1 - 2^-53, so that u * N stays below N after rounding, for every N.
    x = u * len(threshold)
    cell = int(x)
    other = alias[cell]
    return cell if x - cell < threshold[cell] else other
