"""A device without its network: each step, and what it must never do."""

import logging

import pytest
from tests.device.worlds import ME, SPEC, HandClock, play_until_vote, set_up, vote

from devote.boards.board import Outcome, Posted
from devote.boards.database import StoreFull
from devote.device import steps
from devote.device.core import Core
from devote.device.steps import Expiry
from devote.device.store import Store
from devote.protocol import LocalProtocolError


@pytest.fixture
def core(tmp_path):
    core = Core(set_up(tmp_path / "device.db"))
    yield core
    core.close()


def reopen(core, **options):
    core.close()
    return Core(Store.open(core.store.path), **options)


def posted(*envelopes, first=1):
    return [Posted(number, envelope) for number, envelope in enumerate(envelopes, first)]


@pytest.mark.parametrize("x", [-0.1, 1.1, float("nan"), float("inf"), "0.123", None])
def test_a_reward_out_of_range_is_refused_unquoted_and_the_pull_still_waits(core, x):
    arm = core.choose()
    with pytest.raises(LocalProtocolError, match="must be a number in") as caught:
        core.reward(x)
    assert str(x) not in str(caught.value)
    assert core.choose() == arm
    core.reward(True)


def test_the_same_uniforms_and_rewards_give_the_same_player_as_one_without_a_device(core):
    twin = SPEC.scheme.player(SPEC, ME.voter)
    for step in range(40):
        u = step * 0.618 % 1.0
        arm = core.choose(u)
        assert arm == twin.activate(u)
        core.reward(arm / 4)
        twin.reward(arm / 4)
        if step % 7 == 0:
            core = reopen(core)
    assert core.record.player.to_dict() == twin.to_dict()
    core.close()


@pytest.mark.parametrize("on_expire", ["drop", "zero"])
def test_a_pull_whose_reward_never_comes_expires(tmp_path, on_expire):
    hand = HandClock()
    twin = SPEC.scheme.player(SPEC, ME.voter)
    core = Core(set_up(tmp_path / "d.db"), expiry=Expiry(30.0, on_expire), clock=hand.clock)
    assert core.choose(0.9) == twin.activate(0.9)
    hand.pass_(29.0)
    core.choose(0.1)
    twin.wake()
    hand.pass_(1.0)
    twin.abandon() if on_expire == "drop" else twin.reward(0.0)
    assert core.choose(0.1) == twin.activate(0.1)
    assert core.record.player.to_dict() == twin.to_dict()
    core.close()


@pytest.mark.parametrize(("jump", "expires"), [(-1e6, False), (1e6, True)])
def test_a_wall_clock_that_jumps_matters_only_across_a_restart(tmp_path, jump, expires):
    hand = HandClock()
    options = {"expiry": Expiry(30.0), "clock": hand.clock, "dice": lambda: 0.0}
    core = Core(set_up(tmp_path / "d.db"), **options)
    core.choose(0.99)
    before = core.record.player.to_dict()
    hand.wall += jump
    core.choose()
    assert core.record.player.to_dict() == before | {"activations": 2}
    core = reopen(core, **options)
    core.choose()
    assert (core.record.player.to_dict() != before | {"activations": 3}) == expires
    core.close()


def test_votes_lie_in_the_outbox_until_settled_also_after_a_restart(core):
    woken = []
    core.on_message = lambda: woken.append(1)
    play_until_vote(core)
    waiting = core.waiting
    assert woken
    assert waiting
    core = reopen(core)
    assert core.waiting == waiting
    core.change(steps.settle, waiting[0], Outcome.ACCEPTED)
    assert core.waiting == waiting[1:]
    core = reopen(core)
    assert core.waiting == waiting[1:]
    assert core.status().sent == (waiting[0].message,)
    core.close()


def test_a_refused_message_is_kept_and_shown(core):
    play_until_vote(core)
    envelope = core.waiting[0]
    core.change(steps.settle, envelope, Outcome.REFUSED)
    core = reopen(core)
    assert envelope in core.waiting
    assert "refuses" in core.status().degraded[0]
    for each in core.waiting:
        core.change(steps.settle, each, Outcome.DUPLICATE)
    assert not core.status().degraded
    assert not core.waiting
    core.close()


def test_nothing_is_decided_before_the_board_has_been_read_to_its_end_once(core):
    backlog = posted(vote(1, 1), vote(2, 1), vote(1, 2), vote(2, 2))
    assert not core.receive(backlog[:3])
    for _ in range(20):
        core.choose()
        core.reward(0.5)
    status = core.status()
    assert (status.complete, status.state, status.shared) == (False, "open", (0, 1, 2))
    assert status.remaining == (0, 1, 2)
    assert core.best() is None
    core = reopen(core)
    assert core.best() is None
    assert core.receive(backlog[3:], end=4)
    assert core.best() == 0
    assert core.status().state == "agreed"
    core.choose()
    assert core.status().remaining == (0,)
    core = reopen(core)
    assert core.best() == 0
    core.close()


def test_a_forged_message_is_ignored_shown_and_read_past(core):
    real = vote(1, 1)
    forged = type(real)(vote(2, 1).message, real.signature)
    elsewhere = vote(3, 1, experiment="other")
    unknown = vote(4, 3)
    later = vote(5, 1, term=1)
    assert core.receive(posted(real, forged, elsewhere, unknown, later), end=5)
    assert core.record.player.tally.counts == (0, 1, 0)
    assert core.record.player.tally.term == 0
    assert "not valid" in core.status().degraded[0]


def test_a_gap_is_not_read_past(core):
    assert not core.receive(posted(vote(2, 1), first=2), end=2)
    assert core.record.bookmark.number == 0
    assert not core.status().complete
    assert core.receive(posted(vote(1, 1), vote(2, 1)), end=2)
    assert core.record.bookmark.number == 2
    assert core.best() is None
    assert core.status().shared == (0, 2)


def test_stalled_is_shown_once_all_players_have_voted_and_only_then(tmp_path):
    spec = SPEC.with_(arms=2, scheme={"quorum": 3})
    core = Core(set_up(tmp_path / "d.db", spec, players=3))
    play_until_vote(core, best=0)
    core.receive(posted(vote(1, 0, spec=spec)), end=1)
    assert core.status().state == "open"
    core.receive(posted(vote(2, 1, spec=spec), first=2), end=2)
    status = core.status()
    assert status.state == "stalled"
    assert status.answer == (0, 1)
    assert core.best() is None
    core.close()


def test_neither_status_nor_errors_nor_logs_tell_of_rewards(core, caplog):
    caplog.set_level(logging.DEBUG)
    secret = 0.123456789
    for _ in range(5):
        core.choose()
        core.reward(secret)
    text = f"{core.status()} {core.status()!r} {core} {core.store.load()!r} {caplog.text}"
    for private in (secret, 2 * secret, 5 * secret):
        assert str(private)[:6] not in text
    assert not caplog.records


def test_the_status_tells_how_fresh_the_view_is(tmp_path):
    hand = HandClock()
    core = Core(set_up(tmp_path / "d.db"), clock=hand.clock)
    assert core.status().freshness == "not synced yet"
    core.health.synced()
    hand.pass_(3.0)
    assert core.status().freshness == "synced 3 s ago"
    core.health.offline()
    hand.pass_(60.0)
    core.health.offline()
    assert core.status().freshness == "offline since 1970-01-12 13:46:43Z"
    assert core.status().synced_ago == 63.0
    assert "offline since" in str(core.status())
    core.close()


def test_a_store_that_can_be_neither_written_nor_read_leaves_nothing_that_is_not_stored(
    core, monkeypatch
):
    def full(*_):
        raise StoreFull("The disk is full.\nMake room.")

    for call in ("save", "load"):
        monkeypatch.setattr(core.store, call, full)
    for _ in range(2):
        with pytest.raises(StoreFull):
            core.choose()
        assert core.status().degraded
    monkeypatch.undo()
    assert core.pending() is None
    core.reward(1.0, core.choose())
    assert not core.status().degraded


def test_that_an_empty_board_was_read_to_its_end_is_kept(core):
    assert core.receive((), end=0)
    core = reopen(core)
    assert core.status().complete
    core.close()
