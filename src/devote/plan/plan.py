"""What an experiment will cost with a given fleet, before anything is deployed."""

from dataclasses import asdict, dataclass
from typing import Any

from devote.plan.cost import CostEstimate, estimate_cost
from devote.plan.promises import FailureBounds, case_of, failure_bounds, measured_answer
from devote.plan.resets import Changes, ResetPlan, one_term, plan_resets, with_resets
from devote.problems import Problem, Uniform
from devote.protocol import ExperimentSpec, Promise, SpecError
from devote.protocol.scheme import SCHEMES, check
from devote.schemes import lone_spec
from devote.simulator.scenario import Scenario
from devote.theory import coupon_collector, p_star, theorem_2_probability, theorem_2_samples

SINGLE_RUNS = 200
"""Players simulated alone; the slowest of them stands for Theorem 2's T_Py, which is unknown."""


@dataclass(frozen=True)
class SampleBound:
    """Theorem 2 for one scenario, and the wait that it leaves out.

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
    """What to expect: bounds, promises and what simulated runs cost.

    ``events_per_day`` counts the events of all devices together. ``bound`` is None where
    Theorem 2 does not apply, and ``why_no_bound`` says why. With ``resets`` (SER4) both, and what
    was simulated, are about one term.
    """

    scenario: Scenario
    failure: FailureBounds
    promises: tuple[Promise, ...]
    bound: SampleBound | None
    why_no_bound: str
    cost: CostEstimate
    events_per_day: float | None
    seed: int
    resets: ResetPlan | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to think of before this is deployed."""
        spec, means = self.scenario.spec, self.scenario.problem.means
        gap = max(means) - min(means)
        found = list(spec.scheme.planning(spec).warnings)
        if 0.0 < gap <= spec.epsilon * (1.0 + 1e-9):
            found.append(
                f"Every option passes: with epsilon {spec.epsilon:g} the worst of these is good "
                f"enough, as it is {gap:.3g} below the best. Use an epsilon below {gap:.3g}."
            )
        return tuple(found)

    def days(self, samples: float | None) -> float | None:
        """How long that many samples take, at that many events per day."""
        if self.events_per_day is None or samples is None:
            return None
        return samples / self.events_per_day

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        spec, scheme = self.scenario.spec, self.scenario.scheme
        guarantees = scheme.guarantees(case_of(self.scenario))
        return {
            "spec": spec.to_dict(),
            "problem": self.scenario.problem.to_dict(),
            "n_players": self.scenario.n_players,
            "scheme": scheme.name,
            "sends": scheme.about.sends,
            "seed": self.seed,
            "votes_needed": spec.votes_needed,
            "facts": scheme.planning(spec).numbers,
            "message_bound": guarantees.message_bound,
            "failure": self.failure.to_dict(),
            "stall_possible": guarantees.can_stall,
            "theorem_2": None if self.bound is None else asdict(self.bound),
            "why_no_theorem_2": self.why_no_bound or None,
            "resets": None if self.resets is None else asdict(self.resets),
            "promises": [asdict(promise) for promise in self.promises],
            "warnings": list(self.warnings),
            "simulated": self.cost.to_dict(),
            "events_per_day": self.events_per_day,
            "days": self.days(self.cost.samples_until_all_know),
            "days_to_decision": self.days(self.cost.samples),
        }


def web_shop(n_arms: int = 4) -> Problem:
    """Click rates near 5 %, as in a web shop: the best option .05, the next .04, all others .03.

    >>> web_shop().means
    (0.05, 0.04, 0.03, 0.03)
    """
    means = (0.05, 0.04, *(0.03,) * max(0, n_arms - 2))[:n_arms]
    return Problem(
        "web shop",
        means,
        summary="click rates of a web shop, assumed: give yours with --means",
        source="assumed, as no means were given",
    )


def make_plan(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    trials: int = 20,
    seed: int = 0,
    seconds: float = 5.0,
    events_per_day: float | None = None,
    changes: Changes | None = None,
) -> Plan:
    """Gather theory, and simulations of at most about ``seconds`` each.

    With ``changes`` the plan is for SER4: at the specification's phi, or at the recommended one
    if it names SER3.

    >>> plan = make_plan(ExperimentSpec(arms=3), Problem("toy", [0.8, 0.2, 0.2]), 64, trials=2)
    >>> plan.failure.proved < 1e-40, plan.cost.unfinished
    (True, False)
    """
    _check_changes(spec, changes)
    scenario = Scenario(one_term(spec), problem, n_players)
    if not scenario.scheme.about.deployable:
        others = ", ".join(scheme.name for scheme in SCHEMES.values() if scheme.about.deployable)
        raise SpecError(
            f"scheme={scenario.scheme.name!r} runs in simulations only, not on devices.\n"
            f"Plan one of: {others}; use simulate for the rest."
        )
    if events_per_day is not None:
        remedy = "It counts the events of all devices together."
        check.positive("events_per_day", events_per_day, remedy)
    bound, why = _bound(scenario, seed, seconds)
    cost = estimate_cost(scenario, trials=trials, seed=seed, seconds=seconds)
    resets = None
    if changes is not None:
        samples = None if bound is None else (bound.samples, bound.single_player_samples)
        resets = plan_resets(spec, scenario, changes, cost.runs, samples=samples)
        spec = with_resets(spec, resets.phi)
        scenario = Scenario(spec, problem, n_players, changes.horizon)
    promises = scenario.scheme.guarantees(case_of(scenario)).promises
    return Plan(
        scenario=scenario,
        bound=bound,
        why_no_bound=why,
        cost=cost,
        failure=failure_bounds(scenario),
        promises=(*promises, measured_answer(scenario, cost.runs)),
        events_per_day=events_per_day,
        seed=seed,
        resets=resets,
    )


def _check_changes(spec: ExperimentSpec, changes: Changes | None) -> None:
    if changes is None:
        if not spec.resets:
            return
        raise SpecError(
            f"A plan for {spec.algorithm} needs to know what changes.\n"
            "Give --switches, how often the best arm changes, and --horizon, within how many pulls."
        )
    if spec.algorithm not in ("ser3", "ser4"):
        raise SpecError(
            f"{spec.algorithm} makes no resets.\nUse ser4, or leave --switches and --horizon out."
        )
    with_resets(spec, 1.0)  # refuses a scheme that takes no resets


def _bound(scenario: Scenario, seed: int, seconds: float) -> tuple[SampleBound | None, str]:
    """Theorem 2's bound, or why there is none."""
    spec = scenario.spec
    if why := scenario.scheme.guarantees(case_of(scenario)).no_sample_bound:
        return None, why
    votes = spec.votes_needed
    assert votes is not None, "Theorem 2 counts votes"
    alone = Scenario(lone_spec(spec), scenario.problem.with_activity(Uniform()), 1)
    cost = estimate_cost(alone, trials=SINGLE_RUNS, seed=seed, seconds=seconds)
    if cost.unfinished:
        return None, "Theorem 2 needs a device's samples alone, which took too long to simulate."
    single = max(run.samples_until_all_know for run in cost.runs)
    weights = scenario.problem.activity.weights(scenario.n_players)
    p = p_star(weights, votes)
    total = theorem_2_samples(single, p_star=p, delta=spec.delta)
    bound = SampleBound(
        single_player_samples=single,
        p_star=p,
        samples=total,
        probability=theorem_2_probability(
            total, single=single, p_star=p, delta=spec.delta, quorum=votes
        ),
        last_player_wait=coupon_collector(weights),
    )
    return bound, ""
