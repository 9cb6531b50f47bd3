"""A second implementation, in JavaScript, says, hashes and counts what this one does."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.server.live import TOKEN, open_store, serving_in_thread
from tests.tools import needed
from tests.wire.make_vectors import FOLDER, MAKERS, WRITTEN, text

from devote.boards.board import Experiment
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey
from devote.server import Settings, create_app

SECOND = Path(__file__).parent / "second.mjs"
SPECS = {
    "decentralized": ExperimentSpec(arms=["rot", "grün", "👍"], name="wire", scheme={"quorum": 4}),
    "jury": ExperimentSpec(arms=3, name="wire", scheme=Jury(seats=10)),
    "survey": ExperimentSpec(
        arms=3, name="wire", algorithm="mixture_elimination", epsilon=0.1, scheme=Survey(4.0)
    ),
}


@pytest.fixture(scope="module")
def second():
    """Runs it with these words; gives how it ended and what it printed."""
    node = needed("node")

    def run(*words: object) -> tuple[int, str]:
        command = [node, str(SECOND), *map(str, words)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    return run


@pytest.mark.parametrize("name", MAKERS)
def test_the_vectors_are_what_this_implementation_makes(name):
    assert (FOLDER / f"{name}.json").read_text() == text(name)


def test_all_ways_to_write_a_specification_have_one_fingerprint_and_no_other_has_it():
    """Defaults written and left out; ``algorithm = "ser3"`` where the default is another."""
    rows = iter(json.loads(text("specifications")))
    prints = [{next(rows)["fingerprint"] for _ in group} for group in WRITTEN]
    assert list(map(len, prints)) == [1] * len(WRITTEN)
    assert len(set.union(*prints)) == len(WRITTEN)


def test_the_vectors_have_arms_that_are_not_asked_about_in_every_state():
    """Settled arms that remain, arms that are asked about again, arms that are out, and answers
    about them that are taken.
    """
    seen = set()
    for row in json.loads(text("tallies")):
        tallies = row["tallies"]
        for item, taken, before, after in zip(
            row["log"][1:], row["taken"][1:], tallies, tallies[1:], strict=False
        ):
            if "asked" not in before or after["status"] != "open":
                continue
            if before["asked"] != before["shared"]:
                seen.add("remains")
            if set(after["asked"]) - set(before["asked"]):
                seen.add("asked about again")
            arm = item["message"].get("arm")
            if taken and arm not in before["shared"]:
                seen.add("an answer about one that is out")
            elif taken and arm not in before["asked"]:
                seen.add("an answer about one that remains")
    assert len(seen) == 4, seen


def test_a_second_implementation_passes_all_vectors(second):
    count = sum(len(json.loads(text(name))) for name in MAKERS)
    assert second("vectors", FOLDER) == (0, f"{count} vectors, 0 wrong\n")


def test_a_wrong_encoding_fails_the_vectors(second):
    code, output = second("vectors", FOLDER, "--wrong-encoding")
    assert code == 1
    failed = {line.split(":")[0] for line in output.splitlines()[:-1]}
    assert failed == {
        "canonical",
        "fingerprints",
        "specifications",
        "snapshots",
        "tallies",
        "certificates",
    }


@pytest.mark.parametrize("scheme", SPECS)
def test_a_second_implementation_enrols_speaks_reads_verifies_and_counts(scheme, second, tmp_path):
    with open_store(tmp_path / "server.db") as store:
        app = create_app(store, Settings(token=TOKEN, voter_rate=1e6))
        with serving_in_thread(app) as server, Operator(server, TOKEN) as operator:
            url = operator.open(Experiment(SPECS[scheme]))
            code, output = second("take-part", url, 10)
            assert code == 0, output
            counted = json.loads(output)
            with HttpLog(url) as log:
                report = verify_log(log)
    assert report.ok
    assert (counted["number"], counted["head"]) == (report.number, report.head)
    assert report.number == (20 if scheme == "jury" else 10)
    assert counted["tally"]["status"] == report.status
    assert tuple(counted["tally"]["answer"]) == report.answer
