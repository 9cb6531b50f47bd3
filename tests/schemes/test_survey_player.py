"""A device of a survey: what it plays, what it says, and what no crash makes it say twice."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schemes.surveys import answer, small

from devote.protocol import LocalProtocolError, RemoteProtocolError, restore_player
from devote.rules.randomizer import blur_reward
from devote.schemes import Answer

UNIT = st.floats(0.0, 1.0, exclude_max=True)


def device(spec, voter="me"):
    return spec.scheme.player(spec, voter)


def saved(player):
    """What a device would find in its store after a crash."""
    return restore_player(player.spec, json.loads(json.dumps(player.to_dict())))


def public(status="open", answer=(0, 1, 2), shared=(0, 1, 2), asked=None, snapshot=3):
    return {
        "status": status,
        "answer": list(answer),
        "shared": list(shared),
        "asked": list(shared if asked is None else asked),
        "counts": [1, 1, 1],
        "snapshot": snapshot,
    }


@given(u=UNIT, noise=UNIT, x=st.floats(0, 1), privacy=st.sampled_from([None, 0.5, 2.0]))
def test_a_device_answers_once_and_then_plays_the_leader(u, noise, x, privacy):
    spec = small(3, privacy=privacy)
    player = device(spec)
    player.read(public(answer=(2, 0, 1), asked=(0, 2), snapshot=17))
    arm = player.activate(u, noise)
    assert arm == (0, 2)[int(u * 2)]
    assert player.is_asked
    player.read(public(answer=(2, 0, 1), asked=(1,), snapshot=90))
    bit = blur_reward(x, noise, spec.scheme.truths)
    assert player.reward(x) == [Answer("experiment", arm, bit, 1, 17, "me")]
    for _ in range(3):
        assert player.activate(u, noise) == 2
        assert not player.is_asked
        assert player.reward(1.0) == []
    player.read(public("agreed", (0,), (0,)))
    assert player.activate(u, noise) == 0
    assert player.remaining == (0,) == player.shared
    assert player.best == 0


@given(
    steps=st.lists(st.tuples(UNIT, UNIT, st.floats(0, 1), st.booleans()), max_size=6),
    crashes=st.sets(st.integers(0, 12)),
)
def test_no_crash_changes_a_bit_that_was_or_will_be_sent(steps, crashes):
    spec = small(3, privacy=1.0, answers=3)
    sent = []
    for crashing in (set(), crashes):
        player, messages, moment = device(spec), [], 0
        player.read(public(answer=(1, 0), shared=(0, 1), snapshot=8))
        for u, noise, x, gives_up in steps:
            player.activate(u, noise)
            if moment in crashing:
                player = saved(player)
            if gives_up:
                player.abandon()
                messages += player.outgoing()
            else:
                messages += player.reward(x)
            if moment + 1 in crashing:
                player = saved(player)
            moment += 2
        sent.append(messages)
    assert sent[0] == sent[1]
    assert [message.number for message in sent[0]] == list(range(1, min(3, len(steps)) + 1))
    assert {message.seen for message in sent[0]} <= {8}


def test_reward_and_noise_are_forgotten_once_the_bit_is_made():
    player = device(small(3, privacy=1.0))
    player.activate(0.3, 0.123456789)
    assert "0.123456789" in json.dumps(player.to_dict())
    player.reward(0.987654321)
    kept = json.dumps(player.to_dict())
    assert "0.123456789" not in kept
    assert "0.987654321" not in kept


def test_a_reward_that_never_comes_counts_as_0_and_its_noise_is_spent():
    spec = small(3, privacy=1.0)
    player = device(spec)
    arm = player.activate(0.3, 0.99)
    player.abandon()
    bit = blur_reward(0.0, 0.99, spec.scheme.truths)
    assert player.outgoing() == [Answer("experiment", arm, bit, 1, 0, "me")]
    assert player.answers_left == 0
    assert player.pending is None
    player.activate(0.3, 0.01)
    player.abandon()
    assert player.outgoing() == []
    with pytest.raises(LocalProtocolError, match="nothing to abandon"):
        player.abandon()


def test_an_answer_of_its_own_that_a_lost_store_forgot_counts_as_given():
    player = device(small(3))
    player.activate(0.3, 0.5)
    player.receive(answer(0, 1, "somebody"))
    assert player.is_asked
    player.receive(answer(2, 1, "me"))
    assert player.reward(1.0) == []
    assert player.answers_left == 0


def test_an_answer_is_of_use_until_the_decision_also_about_an_arm_no_longer_asked_about():
    player = device(small(3))
    player.activate(0.3, 0.5)
    [message] = player.reward(1.0)
    assert message.arm == 0
    assert player.still_wants(message)
    player.read(public(answer=(2, 1, 0), asked=(1, 2)))
    assert player.still_wants(message)
    player.read(public(answer=(2, 1), shared=(1, 2)))
    assert player.still_wants(message)
    player.read(public("agreed", (0,), (0,)))
    assert not player.still_wants(message)


def test_a_device_that_holds_an_answer_back_asks_no_further_question():
    player = device(small(3, answers=2))
    player.read(public(answer=(2, 0, 1)))
    player.activate(0.3, 0.5)
    assert player.is_asked
    player.reward(1.0)
    assert player.activate(0.3, 0.5, ask=False) == 2
    assert not player.is_asked
    assert player.reward(1.0) == []
    player.activate(0.3, 0.5)
    assert player.is_asked


def test_a_device_can_read_the_log_instead_of_the_tally():
    spec = small(2, epsilon=0.9)
    player = device(spec)
    voters = iter(range(1000))
    while player.tally.status() == "open":
        player.receive(answer(0, 0, next(voters)))
        player.receive(answer(1, 1, next(voters)))
    assert player.activate(0.0, 0.0) == 1
    assert player.reward(1.0) == []
    assert player.best == 1


def test_wrong_use_is_refused_and_changes_nothing():
    player = device(small(3))
    with pytest.raises(LocalProtocolError, match="Call activate"):
        player.reward(1.0)
    for u, noise in ((1.0, 0.5), (0.5, 1.0), (0.5, float("nan"))):
        with pytest.raises(LocalProtocolError):
            player.activate(u, noise)
    assert player.activations == 0
    assert not player.is_asked
    player.activate(0.5, 0.5)
    with pytest.raises(LocalProtocolError, match="awaits its reward"):
        player.activate(0.5, 0.5)
    for x in (2.0, float("nan"), "1"):
        with pytest.raises(LocalProtocolError, match=r"in \[0, 1\]"):
            player.reward(x)
    assert player.is_asked
    assert len(player.reward(1.0)) == 1


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        None,
        public(shared=()),
        public(answer=()),
        public(shared=(0, 3)),
        public(shared=(0, 0)),
        public(shared=("0",)),
        public(answer=(-1,)),
        public(asked=()),
        public(asked=(0, 0)),
        public(shared=(0, 1), answer=(0, 1), asked=(0, 2)),
        public(snapshot=-1),
        public(snapshot=2**53 + 1),
        public(snapshot=True),
        public(snapshot="3"),
        {**public(), "asked": None},
        {name: value for name, value in public().items() if name != "snapshot"},
        {**public(), "shared": 3},
        {**public(), "shared": [[0], [0]]},
    ],
)
def test_a_tally_that_is_none_is_refused(nonsense):
    player = device(small(3))
    with pytest.raises(RemoteProtocolError, match="public tally"):
        player.read(nonsense)
    assert player.shared == (0, 1, 2)
