"""What each promise of a protocol is worth: proved, measured, only claimed, or refuted.

Every promise is one function from a setting to a ``Promise``, listed in ``PROMISES``; a protocol
that keeps a promise in another way gets its own sentence there.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from devote import theory
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.setting import Setting
from devote.simulate.trial import Trial

Standing: TypeAlias = Literal["proved", "measured", "claimed", "refuted"]


def broken_assumption(problem: Problem) -> str:
    """Which assumption of the proofs the problem breaks; empty where it keeps them.

    Paper: Assumptions 1 and 2.

    >>> broken_assumption(Problem("toy", [0.7, 0.5], drift=[0, -1e-5]))
    'rewards must not change (Assumption 1), and here the means drift'
    """
    if problem.groups:
        return "arms must pay all players alike (Assumption 2), and here groups of players differ"
    if problem.switches:
        return "rewards must not change (Assumption 1), and here the means switch"
    if problem.drift is not None and any(problem.drift):
        return "rewards must not change (Assumption 1), and here the means drift"
    if problem.replay is not None and problem.replay_order == "time":
        return "rewards must not change (Assumption 1), and recorded ones in order may"
    return ""


def property_1(spec: ExperimentSpec, eta: float) -> theory.LoneFailure:
    """What is proved of the subroutine alone, to which ``eta`` is handed."""
    return theory.lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.epsilon,
        eta=eta,
        radius=str(spec.options.get("radius", "union")),
    )


def why_unproved(setting: Setting) -> str:
    """Why no proof applies to a player of this setting; empty where one does."""
    eta = setting.protocol.subroutine_eta(setting.spec, setting.n_players)
    found = property_1(setting.spec, eta)
    if found.bound is None:
        return f"{setting.spec.algorithm} alone: {found.why}"
    return broken_assumption(setting.problem)


def good_arms(setting: Setting) -> int:
    """How many arms are epsilon-optimal when the run begins.

    Paper: Definition 1.
    """
    return len(setting.problem.optimal(setting.n_players, 0, setting.spec.epsilon))


@dataclass(frozen=True)
class FailureBounds:
    """The probability of a wrong answer: as the paper has it, and as it is.

    ``bounds`` has the rows, ``meaning`` their sentences.

    Paper: Theorem 1.
    Differs from print: what is proved is for any M of N players (errata 7 and 19).
    """

    claimed: float
    meaning: str
    bounds: tuple[theory.Bound, ...]

    @property
    def proved(self) -> float | None:
        """The bound that is proved, if there is one."""
        return next((row.value for row in self.bounds if row.name == "proved"), None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "proved": self.proved}


def failure_bounds(setting: Setting) -> FailureBounds:
    """What can be said of a wrong answer under a setting.

    >>> from devote.problems import get_problem
    >>> setting = Setting.of(ExperimentSpec(arms=10, epsilon=0.15), get_problem("1"), 64)
    >>> bounds = failure_bounds(setting)
    >>> round(bounds.claimed, 4), bounds.proved < 1e-40
    (0.0523, True)
    """
    spec, protocol = setting.spec, setting.protocol
    eta = protocol.subroutine_eta(spec, setting.n_players)
    rows = theory.failure_bounds(
        protocol.name,
        theory.Vote(
            spec.algorithm,
            property_1(spec, eta),
            good_arms(setting),
            broken_assumption(setting.problem),
        ),
        eta=spec.eta,
        delta=spec.delta,
        n_arms=spec.n_arms,
        n_players=setting.n_players,
        voters=protocol.seats_to_fill(spec) or spec.votes_needed,
        absent=spec.absent,
    )
    return FailureBounds(rows[0].value, " ".join(row.text for row in rows), rows)


def message_bound(setting: Setting) -> int:
    """Most broadcasts of a vote (in each term, where there are several).

    Paper: Theorem 1, the communication cost.
    """
    spec = setting.spec
    if setting.protocol.seats:
        return theory.jury_message_bound(spec.jury_size, spec.n_arms)
    return theory.message_bound(spec.votes_needed, spec.n_arms)


def can_stall(setting: Setting) -> bool:
    """Whether those who vote may split over two arms for good: jurors, or all players.

    Paper: Theorem 1, part 2 of its proof; errata 5 and 20.
    """
    spec, protocol = setting.spec, setting.protocol
    voters = protocol.seats_to_fill(spec) or setting.n_players
    return theory.stall_possible(voters, protocol.votes_needed(spec))


@dataclass(frozen=True)
class Promise:
    """What is promised, how firmly, and the sentence to tell a person."""

    name: str
    standing: Standing
    words: str

    def to_dict(self) -> dict[str, str]:
        """As JSON values."""
        return asdict(self)


def one_device(setting: Setting) -> Promise:
    """Property 1, which the paper assumes of every subroutine and every bound rests on."""
    if why := why_unproved(setting):
        return Promise("one device", "claimed", f"Not proved here: {why}.")
    spec = setting.spec
    eta = setting.protocol.subroutine_eta(spec, setting.n_players)
    found = property_1(spec, eta)
    return Promise(
        "one device",
        "proved",
        f"{spec.algorithm} alone loses all good arms with probability at most {found.bound:.2g}, "
        f"where {eta:.2g} is allowed: {found.why}.",
    )


def right_answer(setting: Setting) -> Promise:
    """Theorem 1, "finds an epsilon-optimal arm with probability 1 - delta"; errata 6 and 7."""
    bounds = failure_bounds(setting)
    if bounds.proved is not None:
        words = f"Wrong with probability at most {bounds.proved:.2g}."
        return Promise("right answer", "proved", f"{words} {bounds.meaning}")
    words = f"Claimed, not proved: wrong with probability at most {bounds.claimed:.3g}."
    return Promise("right answer", "claimed", f"{words} {bounds.meaning}")


def few_messages(setting: Setting) -> Promise:
    """Theorem 1, the communication cost; erratum 2."""
    if setting.protocol.pools:
        return Promise("few messages", "measured", "None is made: every sample goes to everybody.")
    if not setting.protocol.votes:
        return Promise("few messages", "proved", "Nothing is ever sent.")
    what = "votes"
    if setting.protocol.seats:
        what = f"messages, {setting.spec.jury_size} claims of a seat among them,"
    when = " in each term, a reset apart" if setting.algorithm.endless else ""
    return Promise(
        "few messages",
        "proved",
        f"At most {message_bound(setting)} {what} are broadcast{when}, if each is read before "
        "the next device wakes.",
    )


def comes_to_an_end(setting: Setting) -> Promise:
    """Theorem 1, part 2 of its proof; errata 5 and 20."""
    if not setting.protocol.votes:
        return Promise("one answer", "claimed", "Players may end with different arms.")
    votes = setting.protocol.votes_needed(setting.spec)
    if setting.protocol.seats:
        return Promise(
            "one answer",
            "refuted",
            "Arms within epsilon of each other can split the jury for good: the run then ends "
            "stalled, and says so.",
        )
    what = "term" if setting.algorithm.endless else "run"
    if can_stall(setting):
        return Promise(
            "one answer",
            "refuted",
            f"{setting.n_players} players are at most 2 x {votes} - 2: two near-equal arms can "
            f"split them so that no quorum forms; the {what} then ends stalled, and says so. "
            f"Use {2 * votes - 1} players or more to rule it out.",
        )
    return Promise(
        "one answer",
        "proved",
        f"{setting.n_players} players are at least 2 x {votes} - 1: no split can stall.",
    )


def privacy(setting: Setting) -> Promise:
    """Theorem 1, the privacy level; erratum 8."""
    if setting.protocol.pools:
        return Promise("privacy", "refuted", "There is none: every reward is sent to everybody.")
    if not setting.protocol.votes:
        return Promise("privacy", "proved", "Nothing leaves a device.")
    return Promise(
        "privacy",
        "refuted",
        "Rewards stay on the device. But its votes point at its best arm: the paper claims at most "
        f"{1 - setting.spec.eta:.2g} certainty, and its inequality runs the other way (success at "
        "least that). Measured at eta .9 on problem 1, from a voter's own messages against a "
        "claimed cap of .1: .811 [.799, .823] at N = 32, .419 [.404, .435] at N = 64; who voted "
        "against all arms but one is named every time (2,712 of 2,712).",
    )


def measured_answer(setting: Setting, runs: Sequence[Trial]) -> Promise:
    """How often runs were right, with an exact 95 % interval for the rest.

    Where every arm is good enough only the best counts, else there would be nothing to measure.
    A stall leaves a set of arms: its first one is judged, and whether it holds a good one is said.
    """
    spec, problem = setting.spec, setting.problem
    values = problem.values(setting.n_players, 0)
    if runs[0].status == "unfinished":
        return Promise("right answer", "measured", "No simulated run ended in the time given.")
    if min(values) == max(values) and not broken_assumption(problem):
        return Promise("right answer", "measured", "All arms are equal here: no answer is wrong.")
    right = [run.epsilon_optimal for run in runs]
    held = [run.holds_epsilon_optimal for run in runs]
    what = f"an arm within epsilon={spec.epsilon:g} of the best"
    if len(problem.optimal(setting.n_players, 0, spec.epsilon)) == spec.n_arms:
        right = [values[run.winners[0]] == max(values) for run in runs]
        held = [max(values) in [values[arm] for arm in run.winners] for run in runs]
        what = "the best arm (all are within epsilon)"
    stalls = sum(run.status == "stalled" for run in runs)
    sets = (
        f" {stalls} stalled and left several arms, judged by the first; {sum(held)} of {len(held)} "
        "runs ended with a set that holds such an arm."
        if stalls and setting.protocol.votes
        else ""
    )
    wrong = len(right) - sum(right)
    _, high = theory.clopper_pearson(wrong, len(right))
    return Promise(
        "right answer",
        "measured",
        f"{sum(right)} of {len(right)} simulated runs ended with {what}: on these arms wrong "
        f"with probability at most {high:.2g} (95 % confidence).{sets} More trials tell more.",
    )


PROMISES: tuple[Callable[[Setting], Promise], ...] = (
    right_answer,
    one_device,
    few_messages,
    comes_to_an_end,
    privacy,
)


def promises(setting: Setting) -> tuple[Promise, ...]:
    """Every promise, for this setting."""
    return tuple(promise(setting) for promise in PROMISES)
