"""What each promise of a protocol is worth: proved, measured, only claimed, or refuted.

Every promise is one function from a setting to a ``Promise``, listed in ``PROMISES``; a protocol
that keeps a promise in another way gets its own sentence there.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from devote.kernels.votes import jury_failure
from devote.protocol import ExperimentSpec, Protocol
from devote.simulate.setting import Setting
from devote.simulate.trial import Trial
from devote.theory import (
    claimed_failure,
    clopper_pearson,
    honest_failure,
    lone_failure,
    message_bound,
    stall_possible,
)

Standing: TypeAlias = Literal["proved", "measured", "claimed", "refuted"]


@dataclass(frozen=True)
class FailureBounds:
    """The probability of a wrong answer: as the paper has it, and as it is.

    Paper: Theorem 1.
    Differs from print: the honest bound is for any M of N players (erratum 7).
    """

    claimed: float
    honest: float
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def failure_bounds(spec: ExperimentSpec, n_players: int, protocol: Protocol) -> FailureBounds:
    """Both bounds under a protocol.

    >>> from devote.protocol import get_protocol
    >>> bounds = failure_bounds(ExperimentSpec(arms=10), 64, get_protocol("decentralized"))
    >>> round(bounds.claimed, 4), round(bounds.honest, 4)
    (0.0523, 1.0)
    """
    if not protocol.votes:
        return FailureBounds(
            spec.delta,
            spec.delta,
            "No vote is taken: the subroutine's own guarantee, which is proved.",
        )
    if protocol.seats:
        bound = jury_failure(spec.jury_size, spec.eta, (spec.n_arms - 1) * spec.absent)
        return FailureBounds(
            bound,
            bound,
            f"The jury is {spec.jury_size} fixed players, seated by activity alone, so the bound "
            "holds as it stands.",
        )
    votes = protocol.votes_needed(spec)
    claimed = claimed_failure(spec.eta, votes)
    honest = honest_failure(n_players, eta=spec.eta, quorum=votes)
    if n_players == votes:
        meaning = f"All {votes} players must be wrong together: the claim holds here."
    else:
        meaning = (
            f"The paper's bound is for {votes} fixed players; here any {votes} of {n_players} "
            f"can throw an arm out. If each really failed with probability eta={spec.eta:g} the "
            "vote would fail as the honest bound says; subroutines fail far less often, and "
            "that, not the theorem, is why it works."
        )
    return FailureBounds(claimed, honest, meaning)


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
    spec = setting.spec
    eta = setting.protocol.subroutine_eta(spec, setting.n_players)
    found = lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.epsilon,
        eta=eta,
        radius=str(spec.options.get("radius", "union")),
    )
    if found.bound is None:
        return Promise("one device", "claimed", f"{spec.algorithm} alone: {found.why}.")
    return Promise(
        "one device",
        "proved",
        f"{spec.algorithm} alone loses all good arms with probability at most {found.bound:.2g}, "
        f"where {eta:.2g} is allowed: {found.why}.",
    )


def right_answer(setting: Setting) -> Promise:
    """Theorem 1, "finds an epsilon-optimal arm with probability 1 - delta"; errata 6 and 7."""
    bounds = failure_bounds(setting.spec, setting.n_players, setting.protocol)
    fixed = bounds.honest <= bounds.claimed * (1 + 1e-9)
    proved = fixed and one_device(setting).standing == "proved"
    standing: Standing = "proved" if proved else "claimed"
    words = f"Wrong with probability at most {bounds.claimed:.3g}."
    if bounds.claimed > setting.spec.delta:
        words += f" That is above delta={setting.spec.delta:g}; the ceil rule stays below it."
    return Promise("right answer", standing, f"{words} {bounds.meaning}")


def few_messages(setting: Setting) -> Promise:
    """Theorem 1, the communication cost; erratum 2."""
    if setting.protocol.pools:
        return Promise("few messages", "measured", "None is made: every sample goes to everybody.")
    if not setting.protocol.votes:
        return Promise("few messages", "proved", "Nothing is ever sent.")
    votes = setting.protocol.votes_needed(setting.spec)
    bound = message_bound(votes, setting.spec.n_arms)
    words = f"At most {bound} votes are broadcast, if each is read before the next device wakes."
    if setting.protocol.seats:
        words += f" {votes} claims of a seat come on top."
    return Promise("few messages", "proved", words)


def comes_to_an_end(setting: Setting) -> Promise:
    """Theorem 1, part 2 of its proof; erratum 5."""
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
    if stall_possible(setting.n_players, votes):
        return Promise(
            "one answer",
            "refuted",
            f"{setting.n_players} players are fewer than 2 x {votes}: two near-equal arms can "
            "split them so that no quorum forms; the run then ends stalled, and says so. "
            f"Use {2 * votes} players or more to rule it out.",
        )
    return Promise(
        "one answer",
        "proved",
        f"{setting.n_players} players are at least 2 x {votes}: no split of them can stall.",
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
        "Rewards stay on the device. But a device's votes do point at its best arm: the paper "
        f"claims at most {1 - setting.spec.eta:.2g} certainty, and its inequality runs the "
        "other way (success at least that, in practice nearly 1).",
    )


def measured_answer(setting: Setting, runs: Sequence[Trial]) -> Promise:
    """How often runs were right, with an exact 95 % interval for the rest.

    Where every arm is good enough only the best counts, else there would be nothing to measure.
    """
    spec, problem = setting.spec, setting.problem
    right = [run.epsilon_optimal for run in runs]
    what = f"an arm within epsilon={spec.epsilon:g} of the best"
    if len(problem.optimal(setting.n_players, 0, spec.epsilon)) == spec.n_arms:
        values = problem.values(setting.n_players, 0)
        right = [values[run.winners[0]] == max(values) for run in runs]
        what = "the best arm (all are within epsilon)"
    wrong = len(right) - sum(right)
    _, high = clopper_pearson(wrong, len(right))
    return Promise(
        "right answer",
        "measured",
        f"{sum(right)} of {len(right)} simulated runs ended with {what}: on these arms wrong "
        f"with probability at most {high:.2g} (95 % confidence). More trials tell more.",
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
