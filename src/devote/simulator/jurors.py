"""A jury by its jurors alone, in compiled code.

Nothing that other players do changes what a juror ends with. So a jury in a fleet in which all
wake equally often needs no fleet: the moments at which the seats are claimed are the first of so
many random moments, each juror learns alone from then on, and the first arm that enough of them
have picked wins. Time is counted in plays of each device: a million devices cost no more than a
hundred. ``loop`` simulates the same pull by pull, and a test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from devote.protocol import ExperimentSpec
from devote.rules import Rule, get_algorithm, start
from devote.rules.randomizer import blur
from devote.rules.state import COUNT, State, next_alive
from devote.simulator.answers import in_threads, mean_rewards
from devote.simulator.compiling import compile_loop, of_algorithm
from devote.simulator.part import choose, observe
from devote.simulator.run import new_learners
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from devote.schemes.jury.scheme import Jury

LONGEST = 2**31 - 1
"""After so many plays a lone juror is given up."""


@dataclass(frozen=True, eq=False)
class JuryRuns:
    """What simulated juries came to, one place for each run.

    ``plays`` are those of each device on average until the verdict, or until all picks were in
    without one; ``winner`` is the verdict, -1 where there is none; ``messages`` are claims and
    picks until then. ``cut`` marks the runs whose verdict waits for a juror that was given up: they
    take at least so many plays.
    """

    plays: NDArray[np.float64]
    winner: NDArray[np.int64]
    messages: NDArray[np.int64]
    cut: NDArray[np.bool_]


def simulate_jury(
    spec: ExperimentSpec,
    means: Sequence[float],
    n_players: int,
    *,
    runs: int = 100,
    first: int = 0,
    seed: int = 0,
    longest: int = LONGEST,
) -> JuryRuns:
    """Runs ``first``, ``first + 1``, ... of a jury among players who wake equally often.

    Arms pay 0 or 1, 1 with the probability in ``means``. A juror who has learned for ``longest``
    plays is given up.

    >>> spec = ExperimentSpec(arms=2, epsilon=0.3, scheme="jury")
    >>> found = simulate_jury(spec, [0.9, 0.1], 1_000, runs=10)
    >>> found.winner.tolist(), bool(found.messages.max() <= 58)
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0], True)
    """
    spec.check_players(n_players)
    jury = cast("Jury", spec.scheme)
    algorithm = get_algorithm(spec.algorithm)
    rule = jury.learner(spec, n_players).rule
    given = of_algorithm(algorithm)
    compiled = compile_loop(alone, given, f"alone_{algorithm.name}", makes_arrays=True)
    pays = mean_rewards(spec, means)
    # A private juror picks before its `vote_after`-th play, done or not.
    most = longest if jury.privacy is None else min(longest, jury.vote_after - 1)

    def run(number: int) -> tuple[float, int, int, bool]:
        """One run: all jurors learn alone, then the verdict."""
        rng = np.random.default_rng([seed, number])
        state = new_learners(algorithm, spec.n_arms)
        lone = [compiled(rule, pays, rng, most, state) for _ in range(jury.seats)]
        return _verdict(spec, n_players, np.array(lone), most, rng)

    columns = list(zip(*in_threads(run, first, runs), strict=True)) or [()] * 4
    kinds = (np.float64, np.int64, np.int64, np.bool_)
    return JuryRuns(*(np.array(c, dtype=k) for c, k in zip(columns, kinds, strict=True)))


def _verdict(
    spec: ExperimentSpec,
    n_players: int,
    lone: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[float, int, int, bool]:
    """When the verdict comes, what it is, after how many messages, and whether it is not known.

    ``lone`` has each juror's plays and arm, -1 if it was not done after ``most`` plays.
    """
    jury, n_arms = cast("Jury", spec.scheme), spec.n_arms
    plays, arms = lone[:, 0], lone[:, 1]
    claims = _claims(n_players, jury.seats, jury.seat_after, rng)
    if jury.privacy is None:
        # Who was done before it had a seat picks when it is next active.
        wait = np.where(plays < jury.seat_after, 1, plays - jury.seat_after)
        is_unknown = arms == NEVER
    else:
        wait = np.full(jury.seats, max(1, jury.vote_after - jury.seat_after))
        is_unknown = np.full(jury.seats, most < jury.vote_after - 1) & (arms == NEVER)
        truths, noise = jury.truths(n_arms), rng.random(jury.seats)
        pairs = zip(arms.tolist(), noise.tolist(), strict=True)
        arms = np.array(
            [int(u * n_arms) if k == NEVER else blur(k, u, truths, n_arms) for k, u in pairs]
        )
    # Whoever was not done picks later than this.
    moments = claims + np.where(wait > 0, rng.standard_gamma(np.maximum(wait, 1)), 0.0)
    order = np.argsort(moments)
    picks = np.zeros(n_arms, dtype=np.int64)
    needed = jury.votes_needed(spec)
    for place, juror in enumerate(order):
        at = float(moments[juror])
        if is_unknown[juror]:
            return at, NEVER, jury.seats + place, True
        picks[arms[juror]] += 1
        if picks[arms[juror]] == needed:
            claimed = int((claims <= at).sum())
            return at, int(arms[juror]), claimed + place + 1, False
    return float(moments[order[-1]]), NEVER, 2 * jury.seats, False


def _claims(
    n_players: int, seats: int, seat_after: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The moments of the first claims: of the players' ``seat_after``-th activations the first."""
    from scipy.special import gammaincinv

    gaps = rng.standard_exponential(seats) / (n_players - np.arange(seats))
    lowest = -np.expm1(-np.cumsum(gaps))  # the lowest of n_players uniform numbers
    return np.asarray(gammaincinv(seat_after, lowest))


def alone(rule: Rule, means: Any, rng: Any, most: int, state: State) -> Any:
    """One learner alone: after how many plays it is done, and with which arm, -1 if it is not."""
    start(state)
    out = np.zeros(rule.n_arms, dtype=np.int32)
    plays = 0
    while plays < most:
        arm = choose(rule, state, rng.random())
        reward = 1.0 if rng.random() < means[arm] else 0.0
        observe(rule, state, arm, reward, out)
        plays += 1
        if state.ints[COUNT] == 1:
            return plays, next_alive(state, 0)
    return plays, -1
