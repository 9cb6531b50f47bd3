"""A problem: what arms pay, and who wakes; checked, and kept as plain tuples."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import chain
from typing import Any, Literal

from devote.problems.activity import (
    Activity,
    ProblemError,
    Uniform,
    alias_table,
    block_sizes,
    check,
    parse_activity,
    player_count,
)
from devote.problems.rewards import (
    BERNOULLI,
    BETA,
    REPLAY,
    SAMPLES,
    UNIFORM,
    Environment,
    mean_reward,
    optimal_arms,
)

Means = tuple[float, ...]
"""One number per arm."""

TOLERANCE = 1e-12
"""Slack for sums that should be equal but for rounding."""

KINDS = {"bernoulli": BERNOULLI, "beta": BETA, "uniform": UNIFORM}
"""The families of rewards, by name."""


@dataclass(frozen=True)
class Problem:
    """Mean rewards and how they change, the family of rewards, and who wakes.

    ``means`` has one mean reward per arm; leave it out with groups, replay or samples. All else is
    optional:

    * ``drift``: a slope per arm, added to its mean at each step of global time;
    * ``switches``: pairs (time, means), abrupt changes;
    * ``groups``: players with their own mean rewards, of which ``means`` is then the average.
      With ``shares``, the fraction of the players in each group, a row of means for each: every
      group is spread over all players, however often they wake. Without, pairs (fraction of the
      players, means): consecutive blocks of players, the first block first, which with an activity
      such as ``Split`` wakes most often. Groups are the segments of a survey that has any;
    * ``replay``: recorded rewards, one row per event and one column per arm, read in order of time:
      row t modulo the number of rows; ``means`` is then the average row;
    * ``samples``: recorded rewards of each arm, as many as there are; a pull pays one of the arm's
      own at random, and ``means`` are their averages.

    Sequences of any kind are accepted and kept as tuples of floats.

    Paper: section 2; section 5.1.
    Differs from print: drifting means are clipped to [0, 1] (erratum 13).

    >>> problem = Problem("toy", [0.7, 0.5, 0.3])
    >>> problem.n_arms, sorted(problem.optimal(32, 0, 0.25))
    (3, [0, 1])
    """

    name: str
    means: Means = ()
    _: KW_ONLY
    activity: Activity = field(default_factory=Uniform)
    rewards: Literal["bernoulli", "beta", "uniform"] = "bernoulli"
    drift: Means | None = None
    switches: tuple[tuple[int, Means], ...] = ()
    groups: tuple[Any, ...] = ()
    shares: Means = ()
    replay: tuple[Means, ...] | None = None
    samples: tuple[Means, ...] | None = None
    summary: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        self._check_combination()
        self._set("groups", _group_rows(self.groups, self.shares))
        self._set("shares", tuple(map(float, self.shares)))
        for name in ("replay", "samples"):
            if getattr(self, name) is not None:
                self._set(name, _recorded(name, getattr(self, name)))
        self._set("means", self._averages() or check.units("means", self.means))
        n_arms = self.n_arms
        if n_arms < 2:
            raise ProblemError(
                f"{n_arms} arm(s): there is nothing to choose from.\nGive at least 2 arms."
            )
        self._set("switches", _switch_rows(self.switches, n_arms))
        if self.drift is not None:
            slopes = tuple(check.number(f"drift[{k}]", slope) for k, slope in enumerate(self.drift))
            if len(slopes) != n_arms:
                raise ProblemError(
                    f"drift has {len(slopes)} slopes for {n_arms} arms.\nGive one slope per arm."
                )
            self._set("drift", slopes)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_combination(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ProblemError(f"name={self.name!r} is not a name.\nGive a short text.")
        if not hasattr(self.activity, "weights"):
            raise ProblemError(
                f"activity={self.activity!r} is not an activity.\n"
                "Use Uniform(), Split(), Weights(...), Zipf(...) or parse_activity(text)."
            )
        if self.rewards not in KINDS:
            raise ProblemError(f"rewards={self.rewards!r} is not known.\nUse {' or '.join(KINDS)}.")
        if len(self.groups) and len(self.switches):
            raise ProblemError(
                "groups and switches together are ambiguous: a switch gives one row of means, "
                "groups one row each.\nUse groups or switches."
            )
        recorded = [name for name in ("replay", "samples") if getattr(self, name) is not None]
        changes = len(self.groups) or len(self.switches) or self.drift is not None
        if recorded and (changes or self.rewards != "bernoulli" or len(recorded) > 1):
            raise ProblemError(
                f"{recorded[0]} pays recorded rewards: groups, switches, drift and other laws "
                f"cannot be added.\nGive {recorded[0]} alone, or with an activity."
            )

    def _averages(self) -> Means:
        """The means that follow from recorded rewards or groups; empty where nothing does."""
        weights = [fraction for fraction, _ in self.by_group]
        columns: Sequence[Means] = tuple(zip(*(means for _, means in self.by_group), strict=True))
        if weights:
            sums = [math.fsum(f * m for f, m in zip(weights, c, strict=True)) for c in columns]
        else:
            sums = [math.fsum(column) / len(column) for column in self._columns()]
        derived = tuple(min(average, 1.0) for average in sums)
        if derived and len(self.means) and tuple(self.means) != derived:
            raise ProblemError(
                f"means={tuple(self.means)} are not the averages of the groups, of the replay "
                "table or of the samples.\nLeave means out: they follow from the rest."
            )
        return derived

    def _columns(self) -> Sequence[Means]:
        """The recorded rewards of each arm."""
        return self.samples or tuple(zip(*(self.replay or ()), strict=True))

    @property
    def by_group(self) -> tuple[tuple[float, Means], ...]:
        """Of each group its fraction of the players and its means; empty if all are alike."""
        return tuple(zip(self.shares, self.groups, strict=True)) if self.shares else self.groups

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return len(self.means)

    @property
    def kind(self) -> int:
        """The family of its rewards, as ``pay`` knows it."""
        if self.replay is not None:
            return REPLAY
        return KINDS[self.rewards] if self.samples is None else SAMPLES

    def environment(self, n_players: int) -> Environment:
        """The buffers behind ``pay``, as plain lists, for this many players."""
        n = player_count(n_players)
        blocks = block_sizes([f for f, _ in self.by_group], n) if self.groups else [n]
        rows = [means for _, means in self.by_group] or [self.means]
        rows += [means for _, means in self.switches]
        columns = self._columns() or [(0.0,)] * self.n_arms
        lengths = [len(column) for column in columns]
        return Environment(
            kind=self.kind,
            n_arms=self.n_arms,
            n_groups=len(blocks),
            n_segments=1 + len(self.switches),
            means=[mean for row in rows for mean in row],
            slopes=list(self.drift or [0.0] * self.n_arms),
            starts=[0, *(time for time, _ in self.switches)],
            groups=_members(blocks, is_spread=bool(self.shares)),
            table=[reward for column in columns for reward in column],
            firsts=[sum(lengths[:k]) for k in range(self.n_arms)],
            lengths=lengths,
        )

    def waking(self, n_players: int) -> tuple[list[float], list[int]]:
        """The alias table from which ``pick`` draws the next player to wake."""
        return alias_table(self.activity.weights(n_players))

    def values(self, n_players: int, t: int) -> list[float]:
        """The mean reward of each arm at time t, for whoever wakes next.

        Paper: section 2, mu_k, averaged over P_x where Assumption 2 does not hold.
        """
        time, arms = check.whole("t", t), range(self.n_arms)
        if not self.groups and not self.switches and self.drift is None:
            return list(self.means)
        if len(self.groups) < 2:
            anybody = self.environment(1)
            return [mean_reward(anybody, time, 0, k) for k in arms]
        env = self.environment(n_players)
        weights: list[list[float]] = [[] for _ in self.groups]
        for group, weight in zip(env.groups, self.activity.weights(n_players), strict=True):
            weights[group].append(weight)
        shares = [math.fsum(some) for some in weights]
        first = [env.groups.index(group) for group in range(env.n_groups)]
        return [
            math.fsum(s * mean_reward(env, time, n, k) for s, n in zip(shares, first, strict=True))
            for k in arms
        ]

    def optimal(self, n_players: int, t: int, epsilon: float) -> frozenset[int]:
        """The arms whose value at time t is within epsilon of the best.

        Paper: Definition 1.
        Differs from print: section 5 asks for the best arm, but with means .7 and .5 and
        epsilon .25 either is right, and counts as such (erratum 12).
        """
        return optimal_arms(self.values(n_players, t), check.unit("epsilon", epsilon))

    def with_activity(self, activity: Activity | str) -> "Problem":
        """The same arms with other players' habits, given as an activity or as its text."""
        chosen = parse_activity(activity) if isinstance(activity, str) else activity
        return replace(self, activity=chosen)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and texts, for JSON; ``from_dict`` gives back an equal problem."""
        document = {f.name: _as_lists(getattr(self, f.name)) for f in fields(self)}
        return document | {"activity": self.activity.spec}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Problem":
        """The problem in a document; what it leaves out takes its default.

        >>> toy = Problem("toy", [0.7, 0.5], drift=[0, -1e-5])
        >>> Problem.from_dict(toy.to_dict()) == toy
        True
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(document) - known)
        given = {key: value for key, value in document.items() if value is not None}
        if unknown or "name" not in given:
            fault = f"has unknown keys {unknown}" if unknown else "has no name"
            raise ProblemError(
                f"the problem document {fault}.\nUse a name and any of {sorted(known - {'name'})}."
            )
        if isinstance(given.get("activity"), str):
            given["activity"] = parse_activity(given["activity"])
        return cls(**given)


def _as_lists(value: Any) -> Any:
    return [_as_lists(part) for part in value] if isinstance(value, tuple) else value


def _recorded(name: str, rows: Sequence[Sequence[float]]) -> tuple[Means, ...]:
    """Recorded rewards: a replay table has rows of one length, samples have none that is empty."""
    if len(rows) == 0 or min(map(len, rows)) == 0:
        raise ProblemError(
            f"{name} has no row, or an empty one.\n"
            "Give replay a row per event, samples a row per arm, and rewards in each."
        )
    checked = []
    for i, row in enumerate(rows):
        if name == "replay" and len(row) != len(rows[0]):
            raise ProblemError(
                f"row {i} of replay has {len(row)} rewards, the first row {len(rows[0])}.\n"
                "Give one reward per arm in every row."
            )
        try:
            checked.append(check.units("reward", row))
        except ProblemError:
            # A recorded reward is private: the message says where it is, not what it is.
            raise ProblemError(
                f"row {i} of {name} holds a reward that is not a number in [0, 1].\n"
                "Rescale the rewards to [0, 1] and leave out rows with gaps."
            ) from None
    return tuple(checked)


def _members(sizes: Sequence[int], *, is_spread: bool) -> list[int]:
    """The group of each player: one block after another, or each spread evenly over all players.

    >>> _members([4, 2], is_spread=False), _members([4, 2], is_spread=True)
    ([0, 0, 0, 0, 1, 1], [0, 1, 0, 0, 1, 0])
    """
    if not is_spread:
        return list(chain.from_iterable([group] * size for group, size in enumerate(sizes)))
    places = (((j + 0.5) / n, group) for group, n in enumerate(sizes) for j in range(n))
    return [group for _, group in sorted(places)]


def _group_rows(groups: Sequence[Any], shares: Sequence[float]) -> tuple[Any, ...]:
    """Groups of players: fractions that add up to 1, and rows of one length."""
    if len(groups) == 0 and len(shares) == 0:
        return ()
    if len(shares):
        if len(shares) != len(groups):
            raise ProblemError(
                f"{len(shares)} shares for {len(groups)} groups.\nGive each group one share."
            )
        pairs = list(zip(shares, groups, strict=True))
    else:
        form = "(fraction, means), or means and shares beside groups"
        pairs = [_pair(group, f"groups[{j}]", form) for j, group in enumerate(groups)]
    fractions = [check.number(f"share of groups[{j}]", pair[0]) for j, pair in enumerate(pairs)]
    total = math.fsum(fractions)
    if min(fractions) <= 0.0 or abs(total - 1.0) > TOLERANCE:
        raise ProblemError(
            f"the fractions of the groups, {fractions}, add up to {total!r}; they must be positive "
            "and add up to 1.\nGive each group its fraction of the players."
        )
    n_arms = len(check.units("groups[0]", pairs[0][1]))
    rows = [check.units(f"groups[{j}]", pair[1], length=n_arms) for j, pair in enumerate(pairs)]
    return tuple(rows) if len(shares) else tuple(zip(fractions, rows, strict=True))


def _switch_rows(switches: Sequence[Any], n_arms: int) -> tuple[tuple[int, Means], ...]:
    """Switches: increasing times after 0, and one mean per arm."""
    pairs = [_pair(pair, f"switches[{j}]", "(time, means)") for j, pair in enumerate(switches)]
    rows = []
    before = 0
    for j, (time, means) in enumerate(pairs):
        least, remedy = before + 1, "Give switches in increasing order of time, the first after 0."
        before = check.whole(f"switches[{j}] time", time, least=least, remedy=remedy)
        rows.append((before, check.units(f"switches[{j}]", means, length=n_arms)))
    return tuple(rows)


def _pair(value: Any, what: str, form: str) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ProblemError(f"{what}={value!r} is not a pair.\nGive {form}.") from None
    return first, second
