"""The browser client that ships, run through a plan in Node, by ``browser_device.mjs``.

The client speaks surveys only. Its random numbers are its own, of the operating system.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from devote.audit.rates import AuditError
from devote.audit.watched import Copy, Plan, Wire, World, experiments_of
from devote.boards.board import Experiment, TallySnapshot
from devote.protocol import ExperimentSpec

HARNESS = Path(__file__).with_name("browser_device.mjs")
PLACES = (Path(__file__).with_name("devote.js"), Path("clients/js/dist/devote.js"))
"""Where the client is: in the package, and in a checkout, below its root."""


def find_client() -> Path | None:
    """The browser client that ships with this package, or None."""
    root = Path(__file__).parents[3]
    return next((path for path in (PLACES[0], root / PLACES[1]) if path.is_file()), None)


def find_node() -> str | None:
    """Where Node is, or None."""
    return shutil.which("node")


def ask_node(spec: ExperimentSpec, world: World, plans: Sequence[Plan], **more: Any) -> list[Any]:
    """What the harness found of each plan; ``client`` is another client than the one that ships."""
    client, node = more.get("client") or find_client(), find_node()
    if client is None or node is None:
        raise AuditError(
            "The browser client is audited in Node, and there is no "
            f"{'client' if client is None else 'node'} here.\nInstall Node 20 or newer."
        )
    joined = []
    for experiment in map(Experiment, experiments_of(spec, world)):
        public = experiment.spec.scheme.tally(experiment.spec).public()
        tally = TallySnapshot.of(experiment.scope, 0, public)
        values = {**experiment.to_dict(), "spec": experiment.spec.to_dict()}
        joined.append({**values, "tally": tally.to_dict()})
    name = None if world.segment is None else spec.scheme.sending.segments[world.segment]
    asked = {
        "joined": joined,
        "world": {**asdict(world), "segment_name": name},
        "plans": [plan._asdict() for plan in plans],
        "uniform": more.get("uniform"),
    }
    ran = subprocess.run(
        [node, str(HARNESS), str(client)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise AuditError(f"The browser client failed under the audit:\n{ran.stderr.strip()}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def watch_all(
    spec: ExperimentSpec, world: World, plans: Sequence[Plan], client: Path | None = None
) -> list[Wire]:
    """Devices, each from its first open until everything that it sends has been acknowledged."""
    return [
        Wire(
            tuple(found["opens"]),
            tuple(found["drawn"]),
            tuple(
                Copy(at, kind, None if numbers is None else tuple(numbers))
                for at, kind, numbers in found["requests"]
            ),
        )
        for found in ask_node(spec, world, plans, client=client)
    ]
