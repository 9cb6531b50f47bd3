"""A view says what the board holds, the same however it was taken in, and in bounded size."""

import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dashboard.board_rows import SPEC, reset, rows, seat, ten_thousand, vote

from devote.boards.experiment import Experiment
from devote.dashboard.bounds import failure_bounds
from devote.dashboard.timeline import MARKS, Timeline
from devote.dashboard.view import LETTERS, View
from devote.protocol import ExperimentSpec
from devote.theory import claimed_failure, lone_failure, vote_failure


def render(messages, spec=SPEC, players=None, seats=0):
    view = View(spec)
    view.take(rows(messages))
    return view.render(Experiment(spec, "open", players, seats))


def test_nothing_on_the_board_is_an_open_experiment_with_all_options():
    view = render([])
    assert (view["status"], view["answer"]) == ("open", ["red", "green", "blue"])
    assert (view["number"], view["voters"], view["device"]) == (0, 0, None)
    assert [arm["out_at"] for arm in view["arms"]] == [None] * 3


def test_an_option_goes_out_with_the_vote_that_fills_the_quorum():
    view = render([vote("a", 2), vote("a", 1), vote("b", 2), vote("c", 2), vote("b", 1)])
    assert view["quorum"] == 2
    assert [arm["votes"] for arm in view["arms"]] == [0, 2, 3]
    assert [arm["out_at"] for arm in view["arms"]] == [None, 5, 3]
    assert (view["status"], view["answer"], view["voters"]) == ("agreed", ["red"], 3)


def test_a_stall_names_those_left_and_the_one_with_fewest_votes_first():
    spec = SPEC.with_(arms=["red", "green"], quorum=3)
    view = render([vote("a", 0), vote("b", 0), vote("c", 1)], spec, players=3)
    assert (view["status"], view["answer"]) == ("stalled", ["green", "red"])


def test_a_stall_cannot_be_told_without_the_number_of_players():
    spec = SPEC.with_(arms=["red", "green"], quorum=3)
    assert render([vote("a", 0), vote("b", 0), vote("c", 1)], spec)["status"] == "open"


def test_a_reset_brings_every_option_back():
    spec = SPEC.with_(algorithm="ser4", phi=0.1)
    view = render([vote("a", 2), vote("b", 2), reset("a", 1), vote("a", 1, 1)], spec)
    assert (view["term"], view["answer"]) == (1, ["red", "blue", "green"])
    assert [arm["out_at"] for arm in view["arms"]] == [None] * 3
    assert [arm["votes"] for arm in view["arms"]] == [0, 1, 0]
    assert view["timeline"]["lanes"][-1] == {"kind": "reset", "arm": None, "marks": [[3, 1]]}


def test_votes_count_once_the_jury_is_complete():
    spec = ExperimentSpec(
        arms=["red", "green"], name="banner", protocol="jury", eta=0.3, delta=0.09
    )
    assert spec.jury_size == 2
    messages = [vote("b", 1), seat("a", 1)]
    before = render(messages, spec)
    assert before["jury"] == {"size": 2, "seated": 1}
    assert (before["status"], before["arms"][1]["votes"]) == ("open", 0)
    after = render([*messages, vote("c", 1), seat("b", 2), vote("a", 1)], spec)
    assert after["jury"] == {"size": 2, "seated": 2}
    assert (after["status"], after["answer"], after["arms"][1]["out_at"]) == ("agreed", ["red"], 5)


def test_the_bounds_are_the_claimed_one_that_for_one_good_arm_and_for_a_jury_the_proved_one():
    spec = ExperimentSpec(arms=10)
    alone = lone_failure("ser3", n_arms=10, epsilon=spec.epsilon, eta=0.9).wrong_vote
    claimed, one_good = failure_bounds(Experiment(spec, "invite", 32))
    assert (claimed["name"], claimed["value"]) == ("claimed", claimed_failure(0.9, 28))
    assert one_good["name"] == "if one arm is good"
    assert one_good["value"] == vote_failure(32, lone=alone, quorum=28)
    assert "Any 28 of 32" in one_good["text"]
    (proved,) = failure_bounds(Experiment(spec.with_(protocol="jury"), "invite", 64))
    assert (proved["name"], proved["value"]) == ("proved", pytest.approx(0.9**29))


@pytest.mark.parametrize("algorithm", ["kl_racing", "ser4"])
def test_a_jurys_bound_is_only_claimed_for_a_subroutine_without_a_proof(algorithm):
    phi = 0.001 if algorithm == "ser4" else 0.0
    spec = ExperimentSpec(arms=10, protocol="jury", algorithm=algorithm, phi=phi)
    (claimed,) = failure_bounds(Experiment(spec, "invite", 64))
    assert claimed["name"] == "claimed"
    assert f"not proved here: {algorithm} alone" in claimed["text"]


def test_all_devices_together_are_a_proof_only_where_no_more_can_join():
    spec = ExperimentSpec(arms=10)
    invited, joining = Experiment(spec, "invite", 28), Experiment(spec, "open", None, 28)
    assert [b["name"] for b in failure_bounds(invited)] == ["claimed", "proved"]
    assert [b["name"] for b in failure_bounds(joining)] == ["claimed"]


def test_without_enough_devices_to_fill_a_quorum_there_is_only_the_claim():
    spec = ExperimentSpec(arms=10)
    assert [b["name"] for b in failure_bounds(Experiment(spec, "open", None, 27))] == ["claimed"]
    assert len(failure_bounds(Experiment(spec, "invite", 28))) == 2


def test_the_panel_shows_the_first_device_to_speak_to_the_letter_and_stays_with_it():
    messages = [vote("a", 2), vote("b", 2), vote("b", 1), vote("a", 1)]
    device = render(messages)["device"]
    assert (device["voter"], device["count"], device["most"]) == ("a", 2, 2)
    assert [letter["about"] for letter in device["letters"]] == ["blue", "green"]
    assert json.dumps(device["letters"][0]["sent"], separators=(",", ":")) == (
        '{"message":{"v":1,"type":"vote","experiment":"banner","term":0,"arm":2,"voter":"a"},'
        f'"signature":"{1:0128x}"}}'
    )


def test_of_a_device_that_floods_the_board_only_the_last_messages_are_shown():
    spec = SPEC.with_(algorithm="ser4", phi=0.1)
    device = render([reset("a", term) for term in range(1, 201)], spec)["device"]
    assert (device["count"], len(device["letters"])) == (200, LETTERS)
    assert device["letters"][-1]["sent"]["message"]["term"] == 200


voters = st.sampled_from("abcde")
posted = st.one_of(
    st.builds(vote, voters, st.integers(0, 2), st.integers(0, 2)),
    st.builds(reset, voters, st.integers(1, 2)),
)


@given(st.lists(posted, unique=True), st.randoms(use_true_random=False))
def test_taken_in_piece_by_piece_or_at_once_a_view_is_the_same(messages, dice):
    spec = SPEC.with_(algorithm="ser4", phi=0.1)
    experiment = Experiment(spec, "open", 5)
    pieces, left = View(spec), rows(messages)
    while left:
        size = dice.randint(1, len(left))
        pieces.take(left[:size])
        pieces.render(experiment)
        left = left[size:]
    assert pieces.render(experiment) == render(messages, spec, players=5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=200))
def test_a_timeline_loses_no_message_and_has_no_more_marks_than_allowed(steps):
    timeline, number, counts = Timeline(most=8), 0, [0] * 6
    for arm, skip in steps:
        number += skip
        timeline.add("vote", arm, number)
        counts[arm] += 1
    lanes = [timeline.lane("vote", arm) for arm in range(6)]
    assert [sum(count for _, count in lane) for lane in lanes] == counts
    assert sum(map(len, lanes)) <= 12
    assert all((first - 1) % timeline.step == 0 for lane in lanes for first, _ in lane)


def test_with_more_lanes_than_marks_each_lane_keeps_its_share_and_steps_stay_small():
    timeline = Timeline(most=3)
    for number in range(1, 501):
        timeline.add("vote", number % 10, number)
    assert sum(len(timeline.lane("vote", arm)) for arm in range(10)) <= 20
    assert timeline.step <= 512


@pytest.mark.parametrize("arms", [10, 200])
def test_a_board_of_ten_thousand_messages_makes_a_small_view_and_one_more_costs_little(arms):
    board = ten_thousand(arms)
    spec = SPEC.with_(arms=arms, quorum=28)
    view, experiment = View(spec), Experiment(spec, "open")
    view.take(board[:-1])
    started = time.perf_counter()
    view.take(board[-1:])
    rendered = view.render(experiment)
    seconds = time.perf_counter() - started
    assert rendered["number"] == 10_000
    assert sum(len(lane["marks"]) for lane in rendered["timeline"]["lanes"]) <= MARKS
    assert len(json.dumps(rendered)) < 100_000
    assert seconds < 1.0, "on a busy machine; a few milliseconds otherwise"


def test_order_matters_only_for_when_an_option_went_out():
    messages = [vote(voter, arm) for voter in "abc" for arm in (1, 2)]
    shuffled = random.Random(0).sample(messages, len(messages))
    one, other = render(messages), render(shuffled)
    for key in ("status", "answer", "voters", "number", "quorum"):
        assert one[key] == other[key]
