"""The long runs, short: real processes, a network that is cut, kills, hostile peers."""

import pytest
from tests.gossip import hostile, run


@pytest.mark.slow
def test_devices_that_are_cut_off_and_killed_lose_no_vote_and_decide_nothing_wrong(tmp_path):
    figures = run.run(5, 2, seed=1, period=0.3, folder=tmp_path, rest=1.0)
    assert figures["answer"] == [0]
    assert figures["decisions checked"] >= 5
    assert "None of the 1 known peers" in figures["knows only dead"]


@pytest.mark.slow
def test_hostile_peers_of_four_kinds_change_nothing_among_honest_ones(tmp_path):
    figures = hostile.run(4, 4, period=0.3, seconds=1.0, folder=tmp_path)
    assert figures["addresses kept, most"] <= 9
    before, after = figures["requests that the victim heard, before and in that time"]
    assert before + after <= 4 * 18
