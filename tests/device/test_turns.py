"""Playing a device turn by turn."""

import io
from dataclasses import replace

import pytest
from tests.device.worlds import set_up

from devote.cli.fleet import ask, made_up, play
from devote.device.core import Core
from devote.errors import DevoteError

ARMS = ("red", "green", "blue")


class Device:
    """Shows one arm after the other; the vote ends after some turns."""

    def __init__(self, ends_after=10**9, ends_as="agreed"):
        self.rewards = []
        self._ends_after = ends_after
        self._ends_as = ends_as
        core = Core(set_up())
        self._open = core.status()
        core.close()

    def choose(self, segment=None):
        return len(self.rewards) % 3

    def best(self):
        return 0 if self.status().state == "agreed" else None

    def reward(self, x, choice):
        self.rewards.append(x)

    def status(self):
        over = len(self.rewards) >= self._ends_after
        return replace(self._open, state=self._ends_as) if over else self._open


@pytest.mark.parametrize("ending", ["agreed", "stalled"])
def test_turns_are_taken_until_the_vote_is_over_however_it_ends(ending):
    device = Device(ends_after=5, ends_as=ending)
    assert play(device, lambda arm: 0.5) == 5
    assert device.rewards == [0.5] * 5


def test_turns_are_taken_until_so_many():
    device = Device()
    assert play(device, lambda arm: float(arm == 1), most=4) == 4
    assert device.rewards == [0.0, 1.0, 0.0, 0.0]


def test_turns_are_taken_until_the_user_stops():
    device = Device()
    assert play(device, lambda arm: None if arm == 2 else 1.0) == 2
    assert device.rewards == [1.0, 1.0]


def test_a_made_up_user_clicks_as_often_as_asked_and_the_same_way_again():
    user, again = (made_up((1.0, 0.0, 0.5), ARMS, seed=3) for _ in range(2))
    assert {user(0) for _ in range(20)} == {1.0}
    assert {user(1) for _ in range(20)} == {0.0}
    clicks = [user(2) for _ in range(400)]
    assert 120 < sum(clicks) < 280  # P(outside) < 1e-14
    for arm in [0] * 20 + [1] * 20:
        again(arm)
    assert [again(2) for _ in range(400)] == clicks


def test_a_made_up_user_needs_a_mean_for_each_arm():
    with pytest.raises(DevoteError, match="2 means were given, but the experiment has 3 arms"):
        made_up((0.1, 0.2), ARMS, seed=0)


def test_a_person_is_asked_until_they_answer_and_stops_at_the_end_of_input():
    printed = []
    user = ask(ARMS, io.StringIO("1\n\n0.25\nlots\n-1\n2\nnan\n1\n"), printed.append)
    assert [user(0), user(1), user(2), user(0), user(1)] == [1.0, 0.0, 0.25, 1.0, None]
    assert [line for line in printed if line.endswith("(0 to 1)")] == [
        f"{name}? (0 to 1)" for name in ("red", "green", "blue", "red", "green")
    ]
    assert sum("please" in line for line in printed) == 4
