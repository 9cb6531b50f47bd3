"""Golden results of the event loop: what every rule came to in every scheme, for fixed seeds.

They were frozen before the loop was rewritten, and hold the law of every later version to the last
vote. (Those of private juries are newer: fewer equal picks decide since.) ``python -m
tests.simulator.golden`` writes ``tests/data/golden.json`` anew; that is right only when random
streams change on purpose, which the changelog then says.
"""

import hashlib
import json
from pathlib import Path

from tests.simulator.settings import PROBLEMS, small_setting

from devote.protocol import SpecError
from devote.rules import SUBROUTINES, get_algorithm
from devote.simulator import Scenario, run_trial

FILE = Path(__file__).parents[1] / "data" / "golden.json"
SCHEMES = {
    "decentralized": {"quorum": 3},
    "isolated": {},
    "pooled": {},
    "jury": {"seats": 7, "seat_after": 5},
    "private jury": {"seats": 7, "seat_after": 5, "privacy": 6.0, "vote_after": 160},
    "survey": {"privacy": 8.0},
}
TRIALS = 2
PLAYERS = {"survey": 600}
PLAYED = ("plain", "zipf", "groups", "drift")
BETTING = "betting"
"""A rule that came after the golden results were frozen."""


def setting(algorithm: str, scheme: str, problem: str) -> Scenario | None:
    """A small scenario; None where the scheme takes no such rule."""
    found = small_setting(
        algorithm, "isolated", PROBLEMS[problem], n_players=PLAYERS.get(scheme, 8)
    )
    given = {"name": scheme.split()[-1], **SCHEMES[scheme]}
    eta = 0.9 if scheme in ("decentralized", "isolated", "pooled") else 0.2
    try:
        spec = found.spec.with_(scheme=given, eta=eta, algorithm=algorithm)
        return Scenario(spec, found.problem, found.n_players, found.horizon, "event")
    except SpecError:
        return None


def digest(values: object) -> str:
    """A short hash of JSON values."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def outcome(scenario: Scenario, trial: int) -> dict[str, object]:
    """What a trial came to: short numbers as they are, the rest as hashes."""
    run = run_trial(scenario, seed=5, trial=trial, trace=True)
    assert run.trace is not None
    return {
        "samples": run.samples_until_all_know,
        "decided": run.samples,
        "broadcasts": run.broadcasts,
        "suboptimal": run.suboptimal_plays,
        "winners": list(run.winners),
        "status": run.status,
        "first_vote": digest(run.first_vote),
        "trace": digest([list(event) for event in run.trace]),
    }


def cells() -> dict[str, Scenario]:
    """Every rule in every scheme, each on one of the problems by turns."""
    found = {}
    pairs = [(a, s) for a in SUBROUTINES if a != BETTING for s in SCHEMES]
    for i, (algorithm, scheme) in enumerate(pairs):
        problem = PLAYED[(i + i // len(SCHEMES)) % len(PLAYED)]
        scenario = setting(algorithm, scheme, problem)
        if scenario is not None and get_algorithm(algorithm).name == algorithm:
            found[f"{algorithm}, {scheme}, {problem}"] = scenario
    return found


def main() -> None:
    """Write the file."""
    results = {
        name: [outcome(scenario, trial) for trial in range(TRIALS)]
        for name, scenario in cells().items()
    }
    lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in results.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
