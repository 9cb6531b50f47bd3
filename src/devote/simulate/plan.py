"""What an experiment will cost with a given fleet, before anything is deployed."""

from dataclasses import dataclass
from typing import Any

from devote.kernels import get_algorithm
from devote.problems import Problem, Uniform
from devote.protocol import ExperimentSpec, SpecError
from devote.simulate.promises import (
    FailureBounds,
    Promise,
    broken_assumption,
    can_stall,
    failure_bounds,
    good_arms,
    measured_answer,
    message_bound,
    promises,
)
from devote.simulate.quick import QuickLook, look_quickly
from devote.simulate.reset_plan import Changes, ResetPlan, one_term, plan_resets
from devote.simulate.setting import Setting
from devote.theory import (
    coupon_collector,
    p_star,
    quorum,
    theorem_2_holds,
    theorem_2_probability,
    theorem_2_samples,
)
from devote.theory.quorums import RULES

SINGLE_RUNS = 200
"""Players simulated alone; the slowest of them stands for Theorem 2's T_Py, which is unknown."""


@dataclass(frozen=True)
class SampleBound:
    """Theorem 2 for one setting, and the wait that it leaves out.

    It is as good as its premises: each of the M most active players keeps the one good arm, and
    needs at most ``single_player_samples``, the most that was simulated.

    Paper: Theorem 2.
    Differs from print: only where one arm is epsilon-optimal (erratum 15); ``last_player_wait``,
    a coupon collector's, comes on top (erratum 11).
    """

    single_player_samples: int
    p_star: float
    samples: float
    probability: float
    last_player_wait: float


@dataclass(frozen=True)
class Plan:
    """What to expect: quorums, bounds, promises and what a quick simulation measured.

    ``events_per_day`` counts the events of all devices together. ``bound`` is None where
    Theorem 2 does not apply, and ``why_no_bound`` says why. With ``resets`` (SER4) both, and what
    was simulated, are about one term.
    """

    setting: Setting
    quorums: dict[str, int]
    failure: FailureBounds
    promises: tuple[Promise, ...]
    bound: SampleBound | None
    why_no_bound: str
    quick: QuickLook
    events_per_day: float | None
    seed: int
    resets: ResetPlan | None = None

    def days(self, samples: float | None) -> float | None:
        """How long that many samples take, at that many events per day."""
        if self.events_per_day is None or samples is None:
            return None
        return samples / self.events_per_day

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        setting = self.setting
        votes = setting.protocol.votes_needed(setting.spec)
        return {
            "spec": setting.spec.to_dict(),
            "problem": setting.problem.to_dict(),
            "players": setting.n_players,
            "protocol": setting.protocol.name,
            "seed": self.seed,
            "quorum": {**self.quorums, "used": votes},
            "message_bound": message_bound(setting),
            "failure": self.failure.to_dict(),
            "stall_possible": can_stall(setting),
            "theorem_2": None if self.bound is None else self.bound.__dict__,
            "why_no_theorem_2": self.why_no_bound or None,
            "resets": None if self.resets is None else self.resets.to_dict(),
            "promises": [promise.to_dict() for promise in self.promises],
            "simulated": self.quick.to_dict(),
            "events_per_day": self.events_per_day,
            "days": self.days(self.quick.samples),
            "days_to_decision": self.days(self.quick.samples_to_decision),
        }


def default_problem(n_arms: int) -> Problem:
    """All arms equal, an A/A test: of eight problems around one half none took longer.

    Tried with four subroutines and both votes, K = 2, 4 and 10. At means near 0 or 1 subroutines
    whose radius ignores the variance take longer still, up to 1.7 times at .02 (``docs/fleet.md``).

    >>> default_problem(3).means
    (0.5, 0.5, 0.5)
    """
    return Problem(
        f"{n_arms} equal arms",
        (0.5,) * n_arms,
        summary=f"all {n_arms} equal, at .5 (an A/A test): assumed, as no --means were given, "
        "because it takes longest",
        source="assumed, as no means were given",
    )


def make_plan(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    protocol: str = "decentralized",
    events_per_day: float | None = None,
    trials: int = 20,
    seed: int = 0,
    seconds: float = 5.0,
    changes: Changes | None = None,
) -> Plan:
    """Gather theory and quick simulations of at most about ``seconds`` each.

    With ``changes`` the plan is for SER4: at the specification's phi, or at the recommended one
    if it names SER3.

    >>> plan = make_plan(ExperimentSpec(arms=3), Problem("toy", [0.8, 0.2, 0.2]), 64, trials=2)
    >>> plan.quorums, plan.quick.unfinished
    ({'paper': 28, 'ceil': 29}, False)
    """
    _check_changes(spec, changes)
    setting = Setting.of(one_term(spec), problem, n_players, protocol)
    if not setting.protocol.votes:
        raise SpecError(
            f"protocol={protocol!r} takes no vote, and a plan is for one.\n"
            "Plan decentralized or jury, and use simulate for the baselines."
        )
    if events_per_day is not None and not 0.0 < events_per_day < float("inf"):
        raise SpecError(
            f"events_per_day={events_per_day!r} must be a number above 0.\n"
            "It counts the events of all devices together."
        )
    bound, why = _bound(setting, seed, seconds)
    quick = look_quickly(setting, trials=trials, seed=seed, seconds=seconds)
    resets = None
    if changes is not None:
        samples = None if bound is None else (bound.samples, bound.single_player_samples)
        resets = plan_resets(spec, setting, changes, quick.runs, samples=samples)
        spec = spec.with_(algorithm="ser4", phi=resets.phi)
        setting = Setting.of(spec, problem, n_players, protocol, changes.horizon)
    return Plan(
        setting=setting,
        quorums={rule: quorum(spec.delta, spec.eta, rule) for rule in RULES},
        failure=failure_bounds(setting),
        promises=(*promises(setting), measured_answer(setting, quick.runs)),
        bound=bound,
        why_no_bound=why,
        quick=quick,
        events_per_day=events_per_day,
        seed=seed,
        resets=resets,
    )


def _check_changes(spec: ExperimentSpec, changes: Changes | None) -> None:
    endless = get_algorithm(spec.algorithm).endless
    if endless and changes is None:
        raise SpecError(
            f"A plan for {spec.algorithm} needs to know what changes.\n"
            "Give --switches, how often the best arm changes, and --horizon, within how many pulls."
        )
    if changes is not None and spec.algorithm not in ("ser3", "ser4"):
        raise SpecError(
            f"{spec.algorithm} makes no resets.\nUse ser4, or leave --switches and --horizon out."
        )


def _why_no_bound(setting: Setting) -> str:
    if why := broken_assumption(setting.problem):
        return f"Theorem 2 does not apply: {why}."
    good, votes = good_arms(setting), setting.spec.votes_needed
    if not setting.protocol.seats and not theorem_2_holds(good, quorum=votes):
        return (
            f"Theorem 2 does not hold here: {good} arms are epsilon-optimal, so {votes} devices "
            f"that are done may keep different arms. It takes up to {2 * votes - 1} of them."
        )
    if setting.protocol.seats:
        return "Theorem 2 is about the most active players, and seats go to whoever comes first."
    return ""


def _bound(setting: Setting, seed: int, seconds: float) -> tuple[SampleBound | None, str]:
    """Theorem 2's bound, or why there is none."""
    if why := _why_no_bound(setting):
        return None, why
    spec = setting.spec
    weights = setting.problem.activity.weights(setting.n_players)
    # Alone, the failure probability handed to the subroutine is delta: here the vote's eta.
    alone = Setting.of(
        spec.with_(delta=spec.eta, quorum=1),
        setting.problem.with_activity(Uniform()),
        1,
        "isolated",
    )
    look = look_quickly(alone, trials=SINGLE_RUNS, seed=seed, seconds=seconds)
    if look.unfinished:
        return None, "Theorem 2 needs a device's samples alone, which took too long to simulate."
    single = max(run.samples for run in look.runs)
    p = p_star(weights, spec.votes_needed)
    total = theorem_2_samples(single, p_star=p, delta=spec.delta)
    bound = SampleBound(
        single_player_samples=single,
        p_star=p,
        samples=total,
        probability=theorem_2_probability(
            total, single=single, p_star=p, delta=spec.delta, quorum=spec.votes_needed
        ),
        last_player_wait=coupon_collector(weights),
    )
    return bound, ""
