"""What each scheme takes on the paper's problem 1, and what is proved of it there."""

from dataclasses import dataclass
from typing import Any, Self

from devote.plan.promises import case_of, failure_bounds
from devote.problems import get_problem
from devote.protocol import ExperimentSpec, Scheme
from devote.schemes import Decentralized, Isolated, Jury, Pooled, Survey
from devote.simulator import Scenario, run_sweep
from devote.studies.sheet import Sheet

SCHEMES: tuple[Scheme, ...] = (Pooled(), Isolated(), Decentralized(), Jury(), Survey())
"""Each with its defaults; first the two baselines, then by what is proved."""

PLAYERS = 10_000
TRIALS = 20
SEED = 1
ALGORITHM = "betting"


@dataclass(frozen=True)
class Row:
    """One scheme: means over the trials, and what is proved.

    ``samples`` are plays of all devices until the group has its answer. ``proved_error`` is None
    where nothing is proved. ``wrong`` counts the trials whose answer was wrong or missing. Where
    devices send nothing each has an answer of its own, and all of them must be right.
    """

    scheme: str
    samples: float
    messages: float
    proved_error: float | None
    proved_privacy: bool
    wrong: int


@dataclass(frozen=True)
class Comparison(Sheet):
    """The rows, and what they were measured on."""

    n_players: int
    trials: int
    seed: int
    algorithm: str
    problem: str
    epsilon: float
    delta: float
    rows: tuple[Row, ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what ``to_dict`` gave."""
        return cls(**{**values, "rows": tuple(Row(**row) for row in values["rows"])})


def compare_schemes(
    n_players: int = PLAYERS, trials: int = TRIALS, workers: int | None = None
) -> Comparison:
    """Run every scheme on problem 1."""
    problem, spec = get_problem("1"), ExperimentSpec(arms=10, algorithm=ALGORITHM)
    rows = []
    for scheme in SCHEMES:
        scenario = Scenario(spec.with_(scheme=scheme), problem, n_players)
        [result] = run_sweep([scenario], trials=trials, seed=SEED, workers=workers)
        ended = result.ended("agreed") if scheme.about.by_message else ~result.ended("unfinished")
        right = ended & result.epsilon_optimal
        promises = {one.name: one.standing for one in scheme.guarantees(case_of(scenario)).promises}
        rows.append(
            Row(
                scheme=scheme.name,
                samples=float(result.samples[ended].mean()),
                messages=float(result.broadcasts.mean()),
                proved_error=failure_bounds(scenario).proved,
                proved_privacy=promises["privacy"] == "proved",
                wrong=int((~right).sum()),
            )
        )
    return Comparison(
        n_players=n_players,
        trials=trials,
        seed=SEED,
        algorithm=ALGORITHM,
        problem=problem.name,
        epsilon=spec.epsilon,
        delta=spec.delta,
        rows=tuple(rows),
    )
