"""One scheme in detail: bounds, promises and what simulated runs cost; for SER4 also its resets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from devote import theory
from devote.plan.forecast import PER_SECOND, run_within, spread_of
from devote.plan.promises import (
    FailureBounds,
    case_of,
    failure_bounds,
    measured_answer,
    spread,
    summarise,
)
from devote.problems import Problem, Uniform
from devote.protocol import Case, ExperimentSpec, Promise, SpecError
from devote.protocol.scheme import SCHEMES, check
from devote.schemes import lone_spec
from devote.simulator.results import Result
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, Trial

SIMULATED = (
    *("trials", "status", "samples_until_all_know", "broadcasts", "deliveries"),
    *("epsilon_optimal", "holds_epsilon_optimal"),
)
"""What a plan shows of a summary of its runs."""

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

    ``result`` has the trials that there was time for, of ``trials_asked``. ``events_per_day``
    counts the events of all devices together. ``bound`` is None where
    Theorem 2 does not apply, and ``why_no_bound`` says why. With ``resets`` (SER4, see
    ``plan_resets``) both, and what was simulated, are about one term.
    """

    scenario: Scenario
    failure: FailureBounds
    promises: tuple[Promise, ...]
    bound: SampleBound | None
    why_no_bound: str
    result: Result
    trials_asked: int
    events_per_day: float | None
    resets: dict[str, Any] | None = None

    @property
    def unfinished(self) -> bool:
        """Whether the first trial was cut off: costs are then at least these."""
        return self.result.status[0] == "unfinished"

    @property
    def decided(self) -> list[int]:
        """Samples after which the group had one answer, for the trials where it did.

        What comes after is the wait for the last device to wake and read it.
        """
        has_one = (self.result.samples != NEVER) & (self.result.left[:, 1] == NEVER)
        return [int(samples) for samples in self.result.samples[has_one]]

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

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        spec, scheme = self.scenario.spec, self.scenario.scheme
        guarantees = scheme.guarantees(case_of(self.scenario))
        simulated, decided = self.simulated(), self.decided

        def days(samples: float) -> float | None:
            return None if self.events_per_day is None else samples / self.events_per_day

        return {
            "spec": spec.to_dict(),
            "problem": self.scenario.problem.to_dict(),
            "n_players": self.scenario.n_players,
            "scheme": scheme.name,
            "sends": scheme.about.sends,
            "seed": self.result.seed,
            "votes_needed": spec.votes_needed,
            "facts": scheme.planning(spec).numbers,
            "message_bound": guarantees.message_bound,
            "failure": self.failure.to_dict(),
            "stall_possible": guarantees.can_stall,
            "theorem_2": None if self.bound is None else asdict(self.bound),
            "why_no_theorem_2": self.why_no_bound or None,
            "resets": self.resets,
            "promises": [asdict(promise) for promise in self.promises],
            "warnings": list(self.warnings),
            "simulated": simulated,
            "events_per_day": self.events_per_day,
            "days": days(simulated["samples_until_all_know"]["mean"]),
            "days_to_decision": days(float(np.mean(decided))) if decided else None,
        }

    def simulated(self) -> dict[str, Any]:
        """What the trials came to, and the pulls per device: means over trials of quantiles.

        There are none where all players are one learner.
        """
        found, part = summarise(self.result), self.result.scenario.part
        per_device = dict.fromkeys(("median", "p90", "busiest"))
        if part is None or not part.one_learner:
            pulls = np.asarray(self.result.pulls_per_player, dtype=np.float64)
            quantiles = np.quantile(pulls, (0.5, 0.9, 1.0), axis=1)
            per_device = dict(zip(per_device, quantiles.mean(axis=1).tolist(), strict=True))
        return {name: found[name] for name in SIMULATED} | {
            "trials_asked": self.trials_asked,
            "unfinished": self.unfinished,
            "samples": spread(self.decided) if self.decided else None,
            "to_decision": spread_of(np.array(self.decided, dtype=np.float64)),
            "per_device": per_device,
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
    switches: int | None = None,
    horizon: int | None = None,
) -> Plan:
    """Gather theory, and simulations of at most about ``seconds`` each.

    If the best arm is expected to change ``switches`` times within ``horizon`` pulls of all, the
    plan is for SER4: at the specification's phi, or at the recommended one if it names SER3.

    >>> plan = make_plan(ExperimentSpec(arms=3), Problem("toy", [0.8, 0.2, 0.2]), 64, trials=2)
    >>> plan.failure.proved < 1e-40, plan.unfinished
    (True, False)
    """
    _check_changes(spec, switches, horizon)
    scenario = Scenario(_one_term(spec), problem, n_players)
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
    runs = run_within(scenario, trials, seed=seed, pulls=seconds * PER_SECOND, record=True)
    result = Result.of(scenario, runs, seed=seed)
    resets = None
    if switches is not None and horizon is not None:
        resets = plan_resets(spec, scenario, switches, horizon, runs, bound)
        scenario = Scenario(_with_resets(spec, resets["phi"]), problem, n_players, horizon)
    promises = scenario.scheme.guarantees(case_of(scenario)).promises
    return Plan(
        scenario=scenario,
        bound=bound,
        why_no_bound=why,
        result=result,
        trials_asked=trials,
        failure=failure_bounds(scenario),
        promises=(*promises, measured_answer(scenario, runs)),
        events_per_day=events_per_day,
        resets=resets,
    )


def _bound(scenario: Scenario, seed: int, seconds: float) -> tuple[SampleBound | None, str]:
    """Theorem 2's bound, or why there is none."""
    spec = scenario.spec
    if why := scenario.scheme.guarantees(case_of(scenario)).no_sample_bound:
        return None, why
    votes = spec.votes_needed
    assert votes is not None, "Theorem 2 counts votes"
    alone = Scenario(lone_spec(spec), scenario.problem.with_activity(Uniform()), 1)
    runs = run_within(alone, SINGLE_RUNS, seed=seed, pulls=seconds * PER_SECOND)
    if runs[0].status == "unfinished":
        return None, "Theorem 2 needs a device's samples alone, which took too long to simulate."
    single = max(run.samples_until_all_know for run in runs)
    weights = scenario.problem.activity.weights(scenario.n_players)
    p = theory.p_star(weights, votes)
    total = theory.theorem_2_samples(single, p_star=p, delta=spec.delta)
    chance = theory.theorem_2_probability(
        total, single=single, p_star=p, delta=spec.delta, quorum=votes
    )
    return SampleBound(single, p, total, chance, theory.coupon_collector(weights)), ""


def _check_changes(spec: ExperimentSpec, switches: int | None, horizon: int | None) -> None:
    if switches is None or horizon is None:
        if not spec.resets:
            return
        raise SpecError(
            f"A plan for {spec.algorithm} needs to know how often the best arm changes.\n"
            "Give --switches, the number of changes, and --horizon, within how many pulls."
        )
    remedy = "Where the best arm stays the best, use ser3, which needs no reset."
    check.whole("switches", switches, least=1, remedy=remedy)
    check.whole("horizon", horizon, least=1, remedy="It counts the pulls of all devices together.")
    if spec.algorithm not in ("ser3", "ser4"):
        raise SpecError(
            f"{spec.algorithm} makes no resets.\nUse ser4, or leave --switches and --horizon out."
        )
    _with_resets(spec, 1.0)  # refuses a scheme that takes no resets


def _one_term(spec: ExperimentSpec) -> ExperimentSpec:
    """The specification of what happens between two resets: SER4 is then SER3."""
    if not spec.resets:
        return spec
    options = {name: value for name, value in spec.options.items() if name != "phi"}
    return spec.with_(algorithm="ser3", options=options)


def _with_resets(spec: ExperimentSpec, phi: float) -> ExperimentSpec:
    """The same specification with a reset after each pull with probability ``phi``."""
    return spec.with_(algorithm="ser4", options={**spec.options, "phi": phi})


def plan_resets(
    spec: ExperimentSpec,
    term: Scenario,
    switches: int,
    horizon: int,
    runs: Sequence[Trial],
    bound: SampleBound | None,
) -> dict[str, Any]:
    """Choose phi, unless ``spec`` has one, and say what it comes to; ``runs`` are of one term.

    ``plays_per_term`` is C, the mean suboptimal plays of the simulated terms. Over the horizon
    expect at most ``plays`` at ``phi``, ``plays_printed`` at the printed one, and
    ``plays_without`` if no reset is ever made, switches come evenly and the first best arm is
    never best again. ``votes`` bounds the mean number of votes, to which ``resets`` are added.
    ``failure_printed`` is Theorem 4's, ``failure_over_terms`` counts every term; both are None
    where Theorem 2 gives nothing for a term.

    Paper: section 4, Theorem 4.
    Differs from print: ``recommended_phi`` is not the printed one (erratum 17).
    """
    if any(run.status == "unfinished" for run in runs):
        raise SpecError(
            "A term took too long to simulate, and phi depends on what a term costs.\n"
            "Raise --seconds, or plan for fewer devices or a larger epsilon."
        )
    per_term = sum(run.suboptimal_plays for run in runs) / len(runs)
    if per_term == 0.0:
        raise SpecError(
            f"All arms are within epsilon={spec.epsilon:g} of the best: no play is suboptimal, "
            "and resets gain nothing.\nGive --means with a larger gap, or a smaller epsilon."
        )
    votes, messages = spec.votes_needed, spec.scheme.guarantees(Case(spec)).message_bound
    assert votes is not None, "only schemes with votes take resets"
    assert messages is not None
    common = {"horizon": float(horizon), "plays_per_term": per_term}
    recommended = theory.recommended_phi(switches, **common)
    phi = float(spec.options.get("phi", recommended))
    p_star = theory.p_star(term.problem.activity.weights(term.n_players), votes)
    voting: dict[str, Any] = {"p_star": p_star, "delta": spec.delta, "quorum": votes}
    printed = theory.printed_phi(switches, n_arms=spec.n_arms, **voting)

    def plays_at(chance: float) -> float:
        return min(float(horizon), theory.reset_plays(chance, n_switches=switches, **common))

    failure_printed = failure_over_terms = None
    if bound is not None:
        voting |= {"total": bound.samples, "single": bound.single_player_samples}
        failure_printed = theory.ser4_failure(phi, horizon=horizon, **voting)
        failure_over_terms = theory.ser4_failure_over_terms(phi, horizon=horizon, **voting)
    return {
        "switches": switches,
        "horizon": horizon,
        "phi": phi,
        "recommended_phi": recommended,
        "printed_phi": printed,
        "plays_per_term": per_term,
        "resets": phi * horizon,
        "votes": (1.0 + phi * horizon) * messages,
        "plays": plays_at(phi),
        "plays_printed": plays_at(printed),
        "plays_without": per_term + horizon * switches / (switches + 1.0),
        "failure_printed": failure_printed,
        "failure_over_terms": failure_over_terms,
        "why_not_theorem_4": theory.why_not_theorem_4(
            n_arms=spec.n_arms, epsilon=spec.epsilon, eta=spec.eta, delta=spec.delta, phi=phi
        ),
    }
