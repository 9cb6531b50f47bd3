"""The long runs, short: real processes, a network that is cut, kills, hostile peers."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def figures_of(*words: str) -> dict[str, str]:
    """What a run prints; it has a process of its own, which has no threads when it forks."""
    ran = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=280
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    return dict(line.split(": ", 1) for line in ran.stdout.splitlines())


@pytest.mark.slow
def test_devices_that_are_cut_off_and_killed_lose_no_vote_and_decide_nothing_wrong():
    how = ("--devices", "5", "--cuts", "2", "--period", "0.3", "--rest", "1")
    figures = figures_of("tests.gossip.run", *how)
    assert figures["answer"] == "[0]"
    assert int(figures["decisions checked"]) >= 5
    assert "None of the 1 known peers" in figures["knows only dead"]


@pytest.mark.slow
def test_hostile_peers_of_four_kinds_change_nothing_among_honest_ones():
    how = ("--honest", "4", "--hostile", "4", "--period", "0.3", "--seconds", "2")
    figures = figures_of("tests.gossip.hostile", *how)
    assert int(figures["addresses kept, most"]) <= 9
