"""Driving a player rightly, wrongly, and through a restart of its device."""

import json
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.protocol import (
    ExperimentSpec,
    Learner,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    restore_player,
)
from devote.rules.algorithm import ALGORITHMS
from devote.schemes import Reset, Vote
from devote.schemes.decentralized import MAX_TERM

HUGE = 10**400  # too large for a float

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def spec_of(name="ser3", **changes):
    given = {
        "arms": 4,
        "name": "banner",
        "algorithm": name,
        "epsilon": 0.8,
        "eta": 0.5,
        "scheme": {"quorum": 2},
        "options": {"phi": 0.05} if ALGORITHMS[name].endless else {},
    }
    return ExperimentSpec(**(given | changes))


def player_of(spec, voter="n1"):
    return spec.scheme.player(spec, voter)


def state_of(player):
    """What a player would save, and what it has read."""
    return player.to_dict(), player.tally.term, player.tally.votes


def drive(player, rng, pulls):
    """Everything that can be seen from outside while it plays."""
    seen = []
    for _ in range(pulls):
        arm = player.activate(rng.random())
        seen.append((arm, player.reward(float(rng.random() < 0.5)), player.remaining))
    return seen


def raises(match, error=LocalProtocolError):
    return pytest.raises(error, match=match)


def assert_teaches(caught):
    problem, _, remedy = str(caught.value).partition("\n")
    assert problem
    assert remedy


@pytest.fixture
def player():
    player = player_of(spec_of())
    drive(player, Random(2), 5)
    return player


def test_a_reward_before_any_activation_is_refused(player):
    before = state_of(player)
    with raises("No played arm awaits a reward.\nCall activate") as caught:
        player.reward(1.0)
    assert_teaches(caught)
    assert state_of(player) == before


def test_a_second_reward_for_one_play_is_refused(player):
    player.activate(0.5)
    player.reward(1.0)
    before = state_of(player)
    with raises("and reward\\(x\\) once"):
        player.reward(1.0)
    assert state_of(player) == before


def test_a_second_activation_is_refused_and_reads_nothing(player):
    arm = player.activate(0.5)
    for voter in ("n2", "n3"):
        player.receive(Vote("banner", 0, (arm + 1) % 4, voter))
    before = state_of(player)
    with raises(f"arm {arm} has been played and awaits its reward.\nCall reward") as caught:
        player.activate(0.5)
    assert_teaches(caught)
    assert state_of(player) == before


@pytest.mark.parametrize("x", [-1e-9, 1.0000001, 2, math.nan, math.inf, -math.inf, HUGE])
def test_a_reward_outside_0_to_1_is_refused_without_naming_it(player, x):
    player.activate(0.5)
    before = state_of(player)
    with raises("A reward must be a number in \\[0, 1\\].\nScale it") as caught:
        player.reward(x)
    assert repr(x) not in str(caught.value)
    assert state_of(player) == before
    player.reward(1.0)


@pytest.mark.parametrize("x", ["0.731", None, [0.731], 0.731j])
def test_a_reward_that_is_no_number_is_refused_without_naming_it(player, x):
    player.activate(0.5)
    before = state_of(player)
    with raises("A reward must be a number") as caught:
        player.reward(x)
    assert "731" not in str(caught.value)
    assert state_of(player) == before


@pytest.mark.parametrize("x", [0, 1, True, False, 0.0, 1.0, 0.5])
def test_a_click_or_none_is_a_reward(player, x):
    player.activate(0.5)
    assert player.reward(x) == []


@pytest.mark.parametrize("u", [-0.1, 1.0, 2.0, math.nan, math.inf])
def test_a_uniform_outside_0_to_1_is_refused_and_reads_nothing(player, u):
    for voter in ("n2", "n3"):
        player.receive(Vote("banner", 0, 1, voter))
    before = state_of(player)
    with raises("must be in \\[0, 1\\).\nPass random.random") as caught:
        player.activate(u)
    assert_teaches(caught)
    assert state_of(player) == before


@every_algorithm
def test_abandoning_a_play_is_as_if_it_had_not_been(name):
    plain, interrupted = player_of(spec_of(name)), player_of(spec_of(name))
    rng, same, noise = Random(3), Random(3), Random(4)
    for _ in range(300):
        before = interrupted.to_dict()
        assert interrupted.activate(noise.random()) == interrupted.pending
        interrupted.abandon()
        # Being active counts, whatever became of the play: a seat must not depend on rewards.
        assert interrupted.to_dict() == before | {"activations": before["activations"] + 1}
        assert drive(interrupted, same, 1) == drive(plain, rng, 1)


def test_abandoning_nothing_is_refused(player):
    before = state_of(player)
    with raises("There is nothing to abandon"):
        player.abandon()
    assert state_of(player) == before


@every_algorithm
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), saves=st.sets(st.integers(0, 200), max_size=8))
def test_a_player_saved_and_restored_at_any_point_goes_on_exactly(name, seed, saves):
    spec = spec_of(name)
    stays, restarts = player_of(spec), player_of(spec)
    rng, news = Random(seed), Random(seed + 1)
    board = []

    def restart(player, now):
        if not now:
            return player
        return restore_player(spec, json.loads(json.dumps(player.to_dict())), board)

    for t in range(200):
        if news.random() < 0.05:
            vote = Vote("banner", stays.tally.term, news.randrange(4), f"n{news.randrange(2, 5)}")
            board.append(vote)
            stays.receive(vote)
            restarts.receive(vote)
        u, x = rng.random(), float(rng.random() < 0.5)
        assert restarts.activate(u) == stays.activate(u)
        restarts = restart(restarts, t in saves)
        sent = stays.reward(x)
        board += sent
        assert restarts.reward(x) == sent
        restarts = restart(restarts, t + 1 in saves)
        assert state_of(restarts) == state_of(stays)


def test_a_player_saved_by_another_version_is_refused(player):
    saved = player.to_dict() | {"version": 99}
    with raises("version 99 is not 2.\nLoad it with the version") as caught:
        restore_player(player.spec, saved)
    assert_teaches(caught)


@pytest.mark.parametrize(
    "change", [{"name": "poster"}, {"eta": 0.6}, {"arms": 5}, {"algorithm": "lucb"}]
)
def test_a_player_saved_in_another_experiment_is_refused(player, change):
    with raises("saved in experiment 'banner' with another specification") as caught:
        restore_player(player.spec.with_(**change), player.to_dict())
    assert_teaches(caught)


@pytest.mark.parametrize("voter", ["", "n 1", "né", "x" * 65, 7, None])
def test_a_voter_needs_a_name_that_fits_the_wire(voter):
    with raises("must be 1 to 64 of") as caught:
        player_of(spec_of(), voter)
    assert_teaches(caught)


def test_the_two_families_of_errors_are_kept_apart():
    assert issubclass(LocalProtocolError, ProtocolError)
    assert issubclass(RemoteProtocolError, ProtocolError)
    assert not issubclass(LocalProtocolError, RemoteProtocolError)


def votes_out(player, arms, voters=("n2", "n3")):
    for arm in arms:
        for voter in voters:
            player.receive(Vote("banner", player.term, arm, voter))


def test_received_votes_are_acted_on_at_the_next_activation_and_not_before(player):
    votes_out(player, [1, 2])
    assert player.shared == (0, 3)
    assert player.remaining == (0, 1, 2, 3)
    player.activate(0.5)
    assert player.remaining == (0, 3)


def eliminate_all_but(player, arm):
    """Votes of a player whose every other arm pays nothing."""
    rng = Random(1)
    sent = []
    while player.best is None:
        sent += player.reward(float(player.activate(rng.random()) == arm))
    return sent


def test_erratum_1_a_single_eliminated_arm_is_sent():
    player = player_of(spec_of(arms=2))
    assert eliminate_all_but(player, 0) == [Vote("banner", 0, 1, "n1")]
    assert (player.best, player.epoch) == (0, 1)


def test_erratum_4_a_player_left_with_nothing_adopts_the_shared_set_and_votes_no_arm_twice():
    player = player_of(spec_of())
    sent = eliminate_all_but(player, 3)
    assert {vote.arm for vote in sent} == {0, 1, 2}
    votes_out(player, [3])
    player.activate(0.5)
    assert (player.conflicts, player.remaining) == (1, (0, 1, 2))
    player.reward(0.0)
    assert eliminate_all_but(player, 1) == []
    assert player.best == 1


def test_erratum_14_a_reset_opens_the_next_term_and_the_player_starts_over_in_it():
    player = player_of(spec_of())
    eliminate_all_but(player, 3)
    player.receive(Reset("banner", 4, "n2"))
    assert (player.term, player.best) == (0, 3)
    player.activate(0.5)
    assert (player.term, player.remaining) == (4, (0, 1, 2, 3))


def test_erratum_14_nothing_is_sent_in_a_term_that_has_ended_meanwhile():
    player = player_of(spec_of(arms=2))
    rng = Random(1)
    while player.best is None:
        arm = player.activate(rng.random())
        player.receive(Reset("banner", player.tally.term + 1, "n2"))
        assert player.reward(float(arm == 0)) == []
        if player.term > 50:
            break
    assert not player.tally.voted("n1")


def test_a_reset_of_its_own_is_sent_and_opens_the_next_term():
    player = player_of(spec_of("ser4", options={"phi": 1.0}))
    player.activate(0.5)
    assert player.reward(1.0) == [Reset("banner", 1, "n1")]
    assert (player.term, player.tally.term) == (1, 1)


@pytest.mark.parametrize("drive_wrongly", [lambda one: one.reward(0.5), lambda one: one.abandon()])
def test_a_learner_is_guarded_as_a_player_is(drive_wrongly):
    learner = Learner(spec_of().scheme.learner(spec_of()))
    before = learner.to_dict()
    with raises("No played arm awaits a reward"):
        drive_wrongly(learner)
    assert learner.to_dict() == before


def test_no_reset_is_sent_past_the_last_term():
    spec = spec_of("ser4", options={"phi": 1.0})
    player = player_of(spec)
    player.receive(Reset(spec.name, MAX_TERM, "n2"))
    player.activate(0.0)
    assert player.reward(1.0) == []
    assert player.term == MAX_TERM
