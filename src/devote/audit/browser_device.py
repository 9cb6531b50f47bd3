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
from devote.audit.watched import Copy, Plan, Wire, World, experiments_of, public_tally
from devote.boards.board import Experiment, TallySnapshot
from devote.protocol import ExperimentSpec

HARNESS = Path(__file__).with_name("browser_device.mjs")
PLACES = (Path(__file__).parent, Path(__file__).parents[3] / "clients/js/dist")
"""Where the client is: in the package, or in a checkout."""

CLIENT = next((folder / "devote.js" for folder in PLACES if (folder / "devote.js").is_file()), None)
NODE = shutil.which("node")

is_there = CLIENT is not None and NODE is not None


def ask_node(spec: ExperimentSpec, world: World, plans: Sequence[Plan], **more: Any) -> list[Any]:
    """What the harness found of each plan; ``client`` is another client than the one that ships."""
    assert NODE is not None
    joined = []
    for experiment in map(Experiment, experiments_of(spec, world)):
        public = public_tally(experiment.spec.scheme.tally(experiment.spec))
        tally = TallySnapshot.of(experiment.scope, 0, public)
        values = {**experiment.to_dict(), "spec": experiment.spec.to_dict()}
        joined.append({**values, "tally": tally.to_dict()})
    name = None if world.segment is None else spec.scheme.sending.segments[world.segment]
    asked = {
        "joined": joined,
        "world": {**asdict(world), "segment_name": name},
        "plans": [plan._asdict() for plan in plans],
        "uniforms": more.get("uniforms"),
    }
    ran = subprocess.run(
        [NODE, str(HARNESS), str(more.get("client") or CLIENT)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    found = ran.stdout.splitlines()
    if ran.returncode != 0 or len(found) < len(plans):
        raise AuditError(f"The browser client failed under the audit:\n{ran.stderr.strip()}")
    return list(map(json.loads, found))


def watch_all(
    spec: ExperimentSpec, world: World, plans: Sequence[Plan], client: Path | None = None
) -> list[Wire]:
    """Devices, each from its first open until everything that it sends has been acknowledged."""
    return [
        Wire(
            tuple(found["opens"]),
            tuple(found["drawn"]),
            tuple(found["requests"]),
            tuple(found["forms"]),
            tuple(Copy(at, kind, tuple(numbers)) for at, kind, numbers in found["copies"]),
        )
        for found in ask_node(spec, world, plans, client=client)
    ]
