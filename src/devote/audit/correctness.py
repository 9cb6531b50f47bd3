"""How often a vote is really wrong, beside what was claimed and what is proved.

A run has *failed* when no epsilon-optimal arm is left in the shared set at its end. Where the
players agree this means that the answer is wrong; on a stall several arms are left, and the run
has failed only if none of them would do. How many stalls leave a set without a good arm, and how
many a set whose first arm (the fewest votes, the plurality answer) is not good, is counted apart:
nothing is proved of the first arm. With resets (SER4) a run has failed when some
term of it lost all good arms.
"""

from dataclasses import dataclass, replace
from typing import Any

from devote.audit.batches import Batches, Progress, Rate
from devote.audit.errors import AuditError
from devote.audit.terms import failed_terms
from devote.problems import Uniform
from devote.simulate.cell import Cell
from devote.simulate.promises import failure_bounds, property_1
from devote.simulate.setting import Setting
from devote.simulate.trial import Trial
from devote.theory import LoneFailure

LONE_RUNS = 1_000


@dataclass(frozen=True)
class Correctness:
    """One audited setting.

    ``claimed`` is Theorem 1's bound, ``proved`` what is proved of this protocol and subroutine on
    these arms (None: nothing). ``lone`` is the error of a player alone, None where a subroutine
    never stops; ``set_wrong`` and ``plurality_wrong`` count stalled runs only. ``terms`` counts the
    failed ones among the terms that were decided, None where there are no resets; a run made
    ``mean_resets`` of them.
    """

    cell: Cell
    failure: Rate
    stalled: Rate
    unfinished: Rate
    set_wrong: Rate
    plurality_wrong: Rate
    lone: Rate | None
    promised: LoneFailure
    claimed: float
    proved: float | None
    mean_samples: float
    mean_broadcasts: float
    seed: int
    seconds: float
    terms: Rate | None = None
    mean_resets: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            **self.cell.to_dict(),
            "failure": self.failure.to_dict(),
            "stalled": self.stalled.to_dict(),
            "unfinished": self.unfinished.to_dict(),
            "set_wrong": self.set_wrong.to_dict(),
            "plurality_wrong": self.plurality_wrong.to_dict(),
            "lone": None if self.lone is None else self.lone.to_dict(),
            "property_1": {
                "standing": self.promised.standing,
                "bound": self.promised.bound,
                "why": self.promised.why,
            },
            "claimed": self.claimed,
            "proved": self.proved,
            "mean_samples": self.mean_samples,
            "mean_broadcasts": self.mean_broadcasts,
            "mean_resets": self.mean_resets,
            "terms": None if self.terms is None else self.terms.to_dict(),
            "seed": self.seed,
            "seconds": self.seconds,
        }


def audit_correctness(
    cell: Cell,
    *,
    precision: float = 0.01,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int | None = 1,
    allow_long: bool = False,
    progress: Progress | None = None,
) -> Correctness:
    """Run a setting until its failure probability is known to ``precision``.

    Paper: Theorem 1.
    Differs from print: measured, beside the claimed and the proved bound (errata 5-7 and 19).
    """
    setting = cell.setting
    check_seats(setting, seed=seed, trial=0)
    batches = Batches(cell, seed=seed, workers=workers)
    failure = batches.until(
        lambda run: has_failed(setting, run),
        precision=precision,
        confidence=confidence,
        allow_long=allow_long,
        progress=progress,
    )
    runs = batches.runs
    if late := [trial for trial, run in enumerate(runs) if run.status == "unfinished"]:
        check_seats(setting, seed=seed, trial=late[0])
    bounds = failure_bounds(setting)
    stalls = [run for run in runs if run.status == "stalled"]
    endless = setting.algorithm.endless
    answers = [failed for run in runs for failed in failed_terms(setting, run)] if endless else []

    def rate(count: int, total: int) -> Rate:
        return Rate(count, total, confidence)

    return Correctness(
        cell=cell,
        failure=failure,
        stalled=rate(len(stalls), len(runs)),
        unfinished=rate(sum(run.status == "unfinished" for run in runs), len(runs)),
        set_wrong=rate(sum(not run.holds_epsilon_optimal for run in stalls), len(stalls)),
        plurality_wrong=rate(sum(not run.epsilon_optimal for run in stalls), len(stalls)),
        lone=lone_error(cell, seed=seed, confidence=confidence),
        promised=property_1(cell.spec, cell.spec.eta),
        claimed=bounds.claimed,
        proved=proved_failure(setting),
        mean_samples=sum(run.samples for run in runs) / len(runs),
        mean_broadcasts=sum(run.broadcasts for run in runs) / len(runs),
        seed=seed,
        seconds=batches.seconds,
        terms=rate(sum(answers), len(answers)) if endless else None,
        mean_resets=sum(run.resets for run in runs) / len(runs),
    )


def has_failed(setting: Setting, run: Trial) -> bool:
    """Whether no epsilon-optimal arm is left among those still shared.

    Paper: Theorem 1, "finds an epsilon-optimal arm".
    Differs from print: a stall has failed only if none of the arms left would do (erratum 5).
    With resets (Theorem 4), whether some term has failed.
    """
    if setting.algorithm.endless:
        return any(failed_terms(setting, run))
    optimal = setting.problem.optimal(setting.n_players, run.samples, setting.spec.epsilon)
    return optimal.isdisjoint(run.winners)


def check_seats(setting: Setting, *, seed: int, trial: int) -> None:
    """Refuse a setting whose jury is not complete at the end of this trial: it decides nothing."""
    from devote.simulate.engine import run_trial

    if not setting.protocol.seats:
        return
    run = run_trial(setting, seed=seed, trial=trial, trace=True)
    taken = sum(event.kind == "seat" for event in run.trace or ())
    size = setting.spec.jury_size
    if run.status == "unfinished" and taken < size:
        raise AuditError(
            f"{taken} of the jury's {size} seats were taken when trial {trial} ended after "
            f"{run.samples:,} events: no arm can go out before all are.\n"
            "Raise --horizon, lower --seat-after, or check that enough devices are active."
        )


def proved_failure(setting: Setting) -> float | None:
    """The proved bound on the failure probability, if there is one.

    A jury's, that of all players together where all of them must agree (M = N), or that of any M
    of N where one arm is epsilon-optimal; none where rewards change or players' means differ.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> cell = Cell(ExperimentSpec(arms=10), PROBLEMS["1"], 64, "jury")
    >>> round(proved_failure(cell.setting), 3)
    0.047
    """
    return failure_bounds(setting).proved if setting.protocol.votes else None


def lone_error(cell: Cell, *, seed: int, confidence: float = 0.95) -> Rate | None:
    """How often one player alone, at the eta that is paid for, ends with a wrong arm."""
    from devote.simulate.cell import run_chunk

    problem = cell.problem
    if problem.groups or cell.setting.algorithm.endless:
        return None
    # Isolated players get delta / N: with one player and delta = eta that is eta. A quorum of one
    # is given because none is used.
    spec = cell.spec.with_(delta=cell.spec.eta, quorum=1, protocol="decentralized")
    alone = Cell(spec, replace(problem, activity=Uniform()), 1, "isolated")
    size = LONE_RUNS if cell.spec.algorithm != "median_elimination" else LONE_RUNS // 5
    runs, _ = run_chunk(alone, range(size), seed)
    return Rate(sum(not run.epsilon_optimal for run in runs), size, confidence)
