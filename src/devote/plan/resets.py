"""What resets cost where the best arm changes: the part of a plan that is about SER4.

Between two resets SER4 is SER3, so that simulated runs of SER3 tell what a term costs.

Paper: section 4, Theorem 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from devote import theory
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.protocol.scheme import check
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Trial


@dataclass(frozen=True)
class Changes:
    """What is expected to change: ``switches`` of the best arm within ``horizon`` pulls of all."""

    switches: int
    horizon: int

    def __post_init__(self) -> None:
        """Refuse what needs no reset."""
        remedy = "Where the best arm stays the best, use ser3, which needs no reset."
        check.whole("switches", self.switches, least=1, remedy=remedy)
        remedy = "It counts the pulls of all devices together."
        check.whole("horizon", self.horizon, least=1, remedy=remedy)


@dataclass(frozen=True)
class ResetPlan:
    """Which phi, and what follows from it.

    ``plays_per_term`` is C, the mean suboptimal plays of the simulated terms. Over the horizon
    expect at most ``plays`` at ``phi``, ``plays_printed`` at the printed one, and
    ``plays_without`` if no reset is ever made, switches come evenly and the first best arm is
    never best again. ``votes`` bounds the mean number of votes, to which ``resets`` are added.
    ``failure_printed`` is Theorem 4's, ``failure_over_terms`` counts every term; both are None
    where Theorem 2 gives nothing for a term.

    Paper: Theorem 4.
    Differs from print: ``recommended_phi`` is not the printed one (erratum 17).
    """

    switches: int
    horizon: int
    phi: float
    recommended_phi: float
    printed_phi: float
    plays_per_term: float
    resets: float
    votes: float
    plays: float
    plays_printed: float
    plays_without: float
    failure_printed: float | None
    failure_over_terms: float | None
    why_not_theorem_4: str


def one_term(spec: ExperimentSpec) -> ExperimentSpec:
    """The specification of what happens between two resets.

    >>> one_term(ExperimentSpec(arms=3, algorithm="ser4", options={"phi": 1e-4})).algorithm
    'ser3'
    """
    if not spec.resets:
        return spec
    options = {name: value for name, value in spec.options.items() if name != "phi"}
    return spec.with_(algorithm="ser3", options=options)


def with_resets(spec: ExperimentSpec, phi: float) -> ExperimentSpec:
    """The same specification with a reset after each pull with probability ``phi``."""
    return spec.with_(algorithm="ser4", options={**spec.options, "phi": phi})


def plan_resets(
    spec: ExperimentSpec,
    term: Scenario,
    changes: Changes,
    runs: Sequence[Trial],
    *,
    samples: tuple[float, float] | None,
) -> ResetPlan:
    """Choose phi, unless ``spec`` has one, and say what it comes to.

    ``runs`` are simulated terms; ``samples`` Theorem 2's, of all players and of one alone.
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
    common = {"horizon": float(changes.horizon), "plays_per_term": per_term}
    recommended = theory.recommended_phi(changes.switches, **common)
    phi = float(spec.options.get("phi", recommended))
    votes, messages = spec.votes_needed, spec.scheme.guarantees(Case(spec)).message_bound
    if votes is None or messages is None:
        raise SpecError(
            f"A plan with resets counts votes, and {spec.scheme.name} has none.\n"
            "Use a scheme with votes, or leave --switches and --horizon out."
        )

    def plays_at(chance: float) -> float:
        plays = theory.reset_plays(chance, n_switches=changes.switches, **common)
        return min(float(changes.horizon), plays)

    p_star = theory.p_star(term.problem.activity.weights(term.n_players), votes)
    printed = theory.printed_phi(
        changes.switches,
        p_star=p_star,
        n_arms=spec.n_arms,
        quorum=votes,
        delta=spec.delta,
    )
    failures: list[float | None] = [None, None]
    if samples is not None:
        failures = [
            failure(
                phi,
                horizon=changes.horizon,
                total=samples[0],
                single=samples[1],
                p_star=p_star,
                delta=spec.delta,
                quorum=votes,
            )
            for failure in (theory.ser4_failure, theory.ser4_failure_over_terms)
        ]
    return ResetPlan(
        switches=changes.switches,
        horizon=changes.horizon,
        phi=phi,
        recommended_phi=recommended,
        printed_phi=printed,
        plays_per_term=per_term,
        resets=phi * changes.horizon,
        votes=(1.0 + phi * changes.horizon) * messages,
        plays=plays_at(phi),
        plays_printed=plays_at(printed),
        plays_without=per_term + changes.horizon * changes.switches / (changes.switches + 1.0),
        failure_printed=failures[0],
        failure_over_terms=failures[1],
        why_not_theorem_4=theory.why_not_theorem_4(
            n_arms=spec.n_arms, epsilon=spec.epsilon, eta=spec.eta, delta=spec.delta, phi=phi
        ),
    )
