"""Which play a reward is for: named, late, twice, unknown, or not named."""

import copy
import json
import pickle

import pytest
from tests.boards.local import here
from tests.device.crashing_store import Crash, CrashingStore, Disk
from tests.device.worlds import ME, NAMED, HandClock, joined, set_up

from devote.device import Choice
from devote.device.core import Core
from devote.device.errors import (
    LateReward,
    RepeatedReward,
    RewardRefused,
    UnclearReward,
    UnknownPlay,
)
from devote.device.steps import KEPT_PLAYS as KEPT
from devote.device.steps import Expiry
from devote.device.store import Store
from devote.protocol import LocalProtocolError, restore_player


class World:
    """A device whose plays expire after 30 s, on a clock and a disk that a test holds."""

    def __init__(self, path, on_expire="drop"):
        self.path = path
        self.hand = HandClock()
        self.options = {"expiry": Expiry(30.0, on_expire), "clock": self.hand.clock}
        self.core = Core(set_up(path, NAMED), **self.options)

    def show(self, arm):
        """Choose; the uniform number is looked for that gives this arm."""
        for u in (0.01, 0.5, 0.99):
            twin = restore_player(NAMED, self.core.record.player.to_dict())
            if twin.pending is not None:
                twin.abandon()
            if twin.activate(u) == arm:
                return self.core.choose(u)
        raise AssertionError

    def restart(self):
        self.core.close()
        self.core = Core(Store.open(self.path), **self.options)

    @property
    def sums(self):
        return list(self.core.record.player.learner.state.sums)


@pytest.fixture(params=["drop", "zero"])
def world(tmp_path, request):
    world = World(tmp_path / "device.db", request.param)
    yield world
    world.core.close()


@pytest.fixture
def confused(world):
    """Arm 1 is shown and expires, then arm 0 is shown: issue 8, item 8."""
    world.late = world.show(1)
    world.hand.pass_(30.0)
    world.now = world.show(0)
    assert (world.late, world.now) == (1, 0)
    return world


@pytest.mark.parametrize("restarted", [False, True])
def test_a_click_on_an_expired_arm_is_late_and_counts_for_no_other(confused, restarted):
    if restarted:
        confused.restart()
    before = confused.sums
    for _ in range(2):
        with pytest.raises(LateReward, match="too late"):
            confused.core.reward(1.0, confused.late)
    assert confused.sums == before
    assert confused.core.pending().play == confused.now.play
    confused.core.reward(1.0, confused.now)
    assert confused.sums[0] == before[0] + 1.0
    assert confused.sums[1] == before[1]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_reward_without_its_choice_is_refused_once_a_play_has_expired(confused, restarted):
    if restarted:
        confused.restart()
    before = confused.core.record.player.to_dict()
    with pytest.raises(UnclearReward, match=r"reward\(x, choice\)"):
        confused.core.reward(1.0)
    assert confused.core.record.player.to_dict() == before
    confused.core.reward(1.0, confused.now)
    confused.core.choose(0.5)
    with pytest.raises(UnclearReward):
        confused.core.reward(1.0)


def test_a_crash_between_the_expiry_and_the_next_choice_leaves_the_late_play_late():
    """The expiry and the new play are two commits; the process dies between them."""
    disk, hand = Disk(), HandClock()
    store = CrashingStore(disk)
    joined(store, here(NAMED, players=3), ME)
    options = {"expiry": Expiry(30.0), "clock": hand.clock}
    core = Core(store, **options)
    store.doing = ("choose", 0.5, ("abandon",))
    late = core.choose(0.5)
    hand.pass_(30.0)
    store.crash_at("after")
    with pytest.raises(Crash):
        core.choose(0.5)
    store = CrashingStore(disk)
    store.doing = ("choose", 0.5, ("abandon",))
    core = Core(store, **options)
    assert core.pending() is None
    with pytest.raises(LateReward):
        core.reward(1.0, late)
    with pytest.raises(RewardRefused):
        core.reward(1.0)
    assert core.choose(0.5).play != late.play
    core.close()


def test_a_play_lost_in_a_power_cut_is_not_taken_for_the_next_one():
    disk = Disk()
    store = CrashingStore(disk)
    joined(store, here(NAMED, players=3), ME)
    store.doing = ("choose", 0.5, ())
    lost = Core(store).choose(0.5)
    del disk.states[1:]  # what was not synced is gone
    store = CrashingStore(disk)
    store.doing = ("choose", 0.5, ())
    core = Core(store)
    again = core.choose(0.5)
    assert again == lost
    with pytest.raises(UnknownPlay):
        core.reward(1.0, lost)
    assert core.pending().play == again.play
    core.close()


def test_the_choice_can_be_had_again_after_a_restart_and_rewarded(world):
    choice = world.show(1)
    world.restart()
    again = world.core.pending()
    assert (again, again.name, again.play) == (1, "green", choice.play)
    assert [world.core.choose().play for _ in range(3)] == [choice.play] * 3
    world.core.reward(1.0)
    assert world.core.pending() is None
    with pytest.raises(LocalProtocolError, match="No played arm awaits"):
        world.core.reward(0.5)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("pending", [False, True])
def test_a_second_reward_for_a_play_is_refused_as_such(world, restarted, pending):
    choice = world.show(1)
    world.core.reward(1.0, choice)
    if pending:
        world.core.choose(0.5)
    if restarted:
        world.restart()
    before = world.core.record.player.to_dict()
    with pytest.raises(RepeatedReward, match="has had its reward"):
        world.core.reward(1.0, choice)
    assert world.core.record.player.to_dict() == before


@pytest.mark.parametrize("named", [False, True])
def test_a_reward_after_the_time_counts_if_no_other_arm_was_asked_for(world, named):
    choice = world.show(1)
    world.hand.pass_(1000.0)
    world.core.reward(1.0, choice if named else None)
    assert world.sums == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("wrong", ["", "green", 1, 1.0, b"x", [], Choice(1, "green", "nothing")])
def test_what_no_play_has_been_given_is_unknown(world, wrong):
    choice = world.show(1)
    with pytest.raises(UnknownPlay, match=r"Pass what choose\(\)"):
        world.core.reward(1.0, wrong)
    assert world.core.pending().play == choice.play


def test_a_choice_is_its_arm_and_its_text_names_its_play(world):
    choice = world.show(1)
    assert ("rose", "green", "blue")[choice] == choice.name == "green"
    assert (choice == 1, choice.arm, hash(choice)) == (True, 1, hash(1))
    assert (str(choice), f"{choice}", json.dumps(choice)) == ("1", "1", "1")
    for twin in (copy.copy(choice), pickle.loads(pickle.dumps(choice))):
        assert (twin, twin.name, twin.play) == (1, "green", choice.play)
    world.core.reward(1.0, choice.play)
    assert world.sums == [0.0, 1.0, 0.0]


def test_so_many_plays_are_remembered_and_the_file_keeps_no_more(world):
    first = world.core.choose(0.5)
    world.hand.pass_(30.0)
    for _ in range(KEPT - 1):
        world.core.reward(0.5, world.core.choose(0.5))
    with pytest.raises(LateReward):
        world.core.reward(1.0, first)
    last = world.core.choose(0.5)
    with pytest.raises(UnknownPlay):
        world.core.reward(1.0, first)
    assert len(world.core.store.load().plays.split()) == KEPT
    world.restart()
    assert len(world.core.store.load().plays.split()) == KEPT
    world.core.reward(1.0, last)


def test_no_refusal_tells_of_an_arm_or_a_reward(confused):
    secret = 0.123456789
    texts = []
    for choice in (confused.late, None, "nothing", confused.now, confused.now):
        try:
            confused.core.reward(secret, choice)
        except RewardRefused as error:
            texts.append(str(error))
    assert len(texts) == 4
    for text in texts:
        assert not any(word in text for word in ("0.123", "rose", "green", "blue", "arm "))
        assert confused.late.play not in text
