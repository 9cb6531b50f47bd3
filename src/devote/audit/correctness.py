"""How often a vote is really wrong, beside what was claimed and what is proved.

A run has *failed* when no epsilon-optimal arm is left in the shared set at its end. Where the
players agree this means that the answer is wrong; on a stall several arms are left, and the run
has failed only if none of them would do. How many stalls leave a set without a good arm, and how
many a set whose first arm (the fewest votes, the plurality answer) is not good, is counted apart:
nothing is proved of the first arm. With resets (SER4) a run has failed when some
term of it lost all good arms.
"""

from dataclasses import dataclass
from typing import Any, Unpack

from devote.audit.rates import AuditError, Batches, Options, Rate, to_json
from devote.plan.promises import failure_bounds
from devote.problems import Uniform
from devote.schemes import lone_spec
from devote.schemes.lone import alone
from devote.simulator import Scenario, Trial, run_trial
from devote.simulator.trial import NEVER
from devote.simulator.trials import run_chunk
from devote.theory import LoneFailure


def failed_terms(scenario: Scenario, run: Trial) -> list[bool]:
    """For each term that was decided before its reset, whether it failed.

    A term is decided when one arm is left, or none that is good: then it has failed. An arm is
    good if it is epsilon-optimal when the term opens or now, because a term that a switch falls
    into may answer for either side of it. The run must have been traced.

    Paper: Theorem 4, whose failure probability is about all terms together.
    """
    assert run.trace is not None
    spec, problem = scenario.spec, scenario.problem

    def good(time: int) -> frozenset[int]:
        return problem.optimal(scenario.n_players, time, spec.epsilon)

    every = frozenset(range(spec.n_arms))
    opened, left, decided = 0, every, False
    verdicts = []
    for event in run.trace:
        if event.kind == "reset":
            opened, left, decided = event.time + 1, every, False
        elif event.kind == "elimination" and not decided:
            left -= {event.arm}
            failed = left.isdisjoint(good(opened) | good(event.time))
            if failed or len(left) == 1:
                decided = True
                verdicts.append(failed)
    return verdicts


LONE_RUNS = 1_000


@dataclass(frozen=True)
class Correctness:
    """One audited scenario.

    ``claimed`` is Theorem 1's bound, ``proved`` what is proved of this scheme and subroutine on
    these arms (None: nothing). ``lone`` is the error of a player alone, None where a subroutine
    never stops; ``set_wrong`` and ``plurality_wrong`` count stalled runs only. ``terms`` counts the
    failed ones among the terms that were decided, None where there are no resets; a run made
    ``mean_resets`` of them.
    """

    scenario: Scenario
    failure: Rate
    stalled: Rate
    unfinished: Rate
    set_wrong: Rate
    plurality_wrong: Rate
    lone: Rate | None
    promised: LoneFailure
    claimed: float | None
    proved: float | None
    mean_samples: float
    mean_broadcasts: float
    seed: int
    seconds: float
    terms: Rate | None = None
    mean_resets: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, those of the scenario among them; ``promised`` is named property_1."""
        values = to_json(self, promised="property_1")
        found = {name: getattr(self.promised, name) for name in ("standing", "bound", "why")}
        return {**values.pop("scenario"), **values, "property_1": found}


def audit_correctness(scenario: Scenario, **options: Unpack[Options]) -> Correctness:
    """Run a scenario until its failure probability is known to ``precision``.

    Paper: Theorem 1.
    Differs from print: measured, beside the claimed and the proved bound (errata 5-7 and 19).
    """
    batches = Batches(scenario, **options)
    seed, confidence, runs = batches.seed, batches.confidence, batches.runs
    check_heard(scenario, seed=seed)
    failure = batches.until(lambda run: has_failed(scenario, run))
    stalls = [run for run in runs if run.status == "stalled"]
    endless = scenario.algorithm.endless
    answers = [failed for run in runs for failed in failed_terms(scenario, run)] if endless else []

    def rate(count: int, total: int) -> Rate:
        return Rate(count, total, confidence)

    return Correctness(
        scenario=scenario,
        failure=failure,
        stalled=rate(len(stalls), len(runs)),
        unfinished=rate(sum(run.status == "unfinished" for run in runs), len(runs)),
        set_wrong=rate(sum(not run.holds_epsilon_optimal for run in stalls), len(stalls)),
        plurality_wrong=rate(sum(not run.epsilon_optimal for run in stalls), len(stalls)),
        lone=lone_error(scenario, seed=seed, confidence=confidence),
        promised=alone(scenario.spec, scenario.spec.eta),
        claimed=failure_bounds(scenario).claimed,
        proved=proved_failure(scenario),
        mean_samples=sum(run.samples_until_all_know for run in runs) / len(runs),
        mean_broadcasts=sum(run.broadcasts for run in runs) / len(runs),
        seed=seed,
        seconds=batches.seconds,
        terms=rate(sum(answers), len(answers)) if endless else None,
        mean_resets=sum(run.resets for run in runs) / len(runs),
    )


def has_failed(scenario: Scenario, run: Trial) -> bool:
    """Whether no epsilon-optimal arm is left among those still shared.

    Paper: Theorem 1, "finds an epsilon-optimal arm".
    Differs from print: a stall has failed only if none of the arms left would do (erratum 5).
    With resets (Theorem 4), whether some term has failed.
    """
    if scenario.algorithm.endless:
        return any(failed_terms(scenario, run))
    optimal = scenario.problem.optimal(
        scenario.n_players, run.samples_until_all_know, scenario.spec.epsilon
    )
    return optimal.isdisjoint(run.winners)


def check_heard(scenario: Scenario, *, seed: int) -> None:
    """Refuse a horizon before which nobody says anything of an arm: nothing can be decided."""
    if scenario.horizon is None or not scenario.scheme.about.by_message:
        return
    run = run_trial(scenario, seed=seed, trial=0)
    if run.status == "unfinished" and max(run.first_vote) == NEVER:
        raise AuditError(
            "Nobody had sent a message about an arm when trial 0 ended after "
            f"{run.samples_until_all_know:,} events: "
            f"{scenario.scheme.name} has nothing to decide by.\n"
            "Raise --horizon, or check when the scheme lets devices speak."
        )


def proved_failure(scenario: Scenario) -> float | None:
    """The proved bound on the failure probability of a group's answer, if there is one.

    None where rewards change or players' means differ.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> from devote.schemes import Jury
    >>> spec = ExperimentSpec(arms=10, scheme=Jury())
    >>> round(proved_failure(Scenario(spec, PROBLEMS["1"], 64)), 3)
    0.049
    """
    return failure_bounds(scenario).proved if scenario.scheme.about.by_message else None


def lone_error(scenario: Scenario, *, seed: int, confidence: float = 0.95) -> Rate | None:
    """How often one player alone, at the eta that is paid for, ends with a wrong arm."""
    spec, problem = scenario.spec, scenario.problem
    if problem.groups or scenario.algorithm.endless:
        return None
    one = Scenario(lone_spec(spec), problem.with_activity(Uniform()), 1)
    size = LONE_RUNS if spec.algorithm != "median_elimination" else LONE_RUNS // 5
    runs = run_chunk(one, range(size), seed)
    return Rate(sum(not run.epsilon_optimal for run in runs), size, confidence)
