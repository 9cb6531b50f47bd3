"""A view says what the board holds, the same however it was taken in, and in bounded size."""

import json
import random
from dataclasses import asdict

import pytest
from examples.scheme.first_to_finish import Finished
from hypothesis import given
from hypothesis import strategies as st
from tests.boards.local import scope
from tests.page.applause import Boo
from tests.page.board_rows import SPEC, claim, pick, reset, rows, ten_thousand, vote

from devote.boards import store
from devote.boards.board import Experiment
from devote.boards.store import LATEST, MARKS, History, Timeline
from devote.page.page import view
from devote.protocol import Case, ExperimentSpec
from devote.protocol.messages import from_json


def render(messages, spec=SPEC, players=None, enrolled=0):
    past = History(spec, scope(spec))
    past.take(rows(messages))
    return view(Experiment(spec, "open", players, enrolled), past)


def each(shown, key):
    return [arm[key] for arm in shown["arms"]]


def test_nothing_on_the_board_is_an_open_experiment_with_all_options():
    shown = render([])
    assert (shown["status"], shown["answer"]) == ("open", ["red", "green", "blue"])
    assert (shown["number"], shown["open"], shown["device"]) == (0, 3, None)
    assert shown["facts"] == [["voters so far", "0"]]
    assert each(shown, "out_at") == [None] * 3


def test_an_option_goes_out_with_the_vote_that_fills_the_quorum():
    shown = render([vote("a", 2), vote("a", 1), vote("b", 2), vote("c", 2), vote("b", 1)])
    assert (shown["heading"], shown["needed"]) == ("votes against", 2)
    assert each(shown, "count") == [0, 2, 3]
    assert each(shown, "out_at") == [None, 5, 3]
    assert each(shown, "answer") == [True, False, False]
    assert (shown["status"], shown["answer"], shown["open"]) == ("agreed", ["red"], 1)
    assert shown["facts"] == [["voters so far", "3"]]


TWO = SPEC.with_(arms=["red", "green"], scheme={"quorum": 3})


def test_a_stall_names_those_left_and_the_one_with_fewest_votes_first():
    shown = render([vote("a", 0), vote("b", 0), vote("c", 1)], TWO, players=3)
    assert (shown["status"], shown["answer"]) == ("stalled", ["green", "red"])
    assert each(shown, "answer") == [False, False]


def test_a_stall_cannot_be_known_without_the_number_of_players():
    assert render([vote("a", 0), vote("b", 0), vote("c", 1)], TWO)["status"] == "open"


RESETTING = SPEC.with_(algorithm="ser4", options={"phi": 0.1})


def test_a_reset_brings_every_option_back():
    messages = [vote("a", 2), vote("b", 2), reset("a", 1), vote("a", 1, 1)]
    shown = render(messages, RESETTING)
    assert (shown["facts"][-1], shown["answer"]) == (["term", "1"], ["red", "blue", "green"])
    assert each(shown, "out_at") == [None] * 3
    assert each(shown, "count") == [0, 1, 0]
    assert shown["timeline"]["lanes"][-1] == {"name": "resets", "arm": None, "marks": [[3, 1]]}


def test_picks_win_and_the_verdict_closes_all_other_options():
    spec = SPEC.with_(scheme={"name": "jury", "seats": 3}, eta=0.2, delta=0.11)
    assert spec.votes_needed == 2
    messages = [claim("a"), claim("b"), pick("a", 1), claim("c")]
    before = render(messages, spec)
    assert (before["heading"], before["status"], before["open"]) == ("picks", "open", 3)
    assert before["progress"] == [
        ["seats taken", 3, 3, "3 of 3"],
        ["jurors who have picked", 1, 3, "1 of 3"],
    ]
    assert before["leader"] == "green"
    assert each(before, "count") == [0, 1, 0]
    after = render([*messages, pick("c", 1)], spec)
    assert (after["status"], after["answer"]) == ("agreed", ["green"])
    assert each(after, "out_at") == [5, None, 5]
    assert each(after, "answer") == [False, True, False]
    lanes = after["timeline"]["lanes"]
    assert [lane["name"] for lane in lanes] == ["red", "green", "blue", "claims"]
    assert [lane["marks"] for lane in lanes[1::2]] == [[[3, 1], [5, 1]], [[1, 1], [2, 1], [4, 1]]]


def test_a_jury_that_stalls_leaves_the_options_with_picks():
    spec = SPEC.with_(scheme={"name": "jury", "seats": 3}, eta=0.05, delta=0.001)
    assert spec.votes_needed == 3
    messages = [claim(voter) for voter in "abc"] + [pick("a", 2), pick("b", 1), pick("c", 2)]
    shown = render(messages, spec, players=3)
    assert (shown["status"], shown["answer"]) == ("stalled", ["blue", "green"])


def test_a_scheme_from_outside_is_shown_like_any_other(applause):
    spec = ExperimentSpec(arms=["red", "green"], name="banner", scheme="applause")
    messages = [Boo("banner", 0, "a"), Finished("banner", 1, "a"), Finished("banner", 0, "b")]
    shown = render(messages, spec, players=3)
    assert (shown["scheme"], shown["heading"], shown["needed"]) == (
        "applause",
        "finished with",
        1,
    )
    assert (shown["status"], shown["answer"], each(shown, "out_at")) == (
        "agreed",
        ["green"],
        [2, None],
    )
    lanes = [(lane["name"], len(lane["marks"])) for lane in shown["timeline"]["lanes"]]
    assert set(lanes) == {
        ("red: boos", 1), ("green: boos", 0), ("red: finisheds", 1), ("green: finisheds", 1)
    }  # fmt: skip
    assert [bound["value"] for bound in shown["bounds"]] == [3 * spec.eta]


@pytest.mark.parametrize("scheme", [{"quorum": 2}, "jury", {"name": "jury", "privacy": 3.0}])
def test_the_bounds_are_the_schemes_for_as_many_devices_as_there_can_be(scheme):
    spec = SPEC.with_(scheme=scheme)
    for players in (None, 64):
        expected = [asdict(bound) for bound in spec.scheme.guarantees(Case(spec, players)).bounds]
        assert render([], spec, players=players, enrolled=40)["bounds"] == expected


def test_the_panel_shows_the_first_device_to_the_letter_and_stays_with_it():
    messages = [vote("a", 2), vote("b", 2), vote("b", 1), vote("a", 1)]
    device = render(messages)["device"]
    assert (device["voter"], device["count"], device["most"]) == ("a", 2, 2)
    assert [(sent["kind"], sent["about"]) for sent in device["messages"]] == [
        ("vote", "blue"),
        ("vote", "green"),
    ]
    assert json.dumps(device["messages"][0]["sent"], separators=(",", ":")) == (
        '{"message":{"arm":2,"experiment":"banner","term":0,"type":"vote","v":2,"voter":"a"},'
        f'"signature":"{1:0128x}"}}'
    )


def test_of_a_device_that_floods_the_board_only_the_last_messages_are_shown():
    device = render([reset("a", term) for term in range(1, 201)], RESETTING)["device"]
    assert (device["count"], len(device["messages"])) == (200, LATEST)
    assert device["messages"][-1]["sent"]["message"]["term"] == 200


voters = st.sampled_from("abcde")
posted = st.one_of(
    st.builds(vote, voters, st.integers(0, 2), st.integers(0, 2)),
    st.builds(reset, voters, st.integers(1, 2)),
)


@given(st.lists(posted, unique=True), st.randoms(use_true_random=False))
def test_taken_in_piece_by_piece_or_at_once_a_view_is_the_same(messages, dice):
    experiment = Experiment(RESETTING, "open", 5)
    pieces, left = History(RESETTING, scope(RESETTING)), rows(messages)
    while left:
        size = dice.randint(1, len(left))
        pieces.take(left[:size])
        view(experiment, pieces)
        left = left[size:]
    assert view(experiment, pieces) == render(messages, RESETTING, players=5)


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
def test_a_board_of_ten_thousand_messages_makes_a_small_view_and_one_more_is_taken_in_alone(
    arms, monkeypatch
):
    board = ten_thousand(arms)
    spec = SPEC.with_(arms=arms, scheme={"quorum": 28})
    past = History(spec, scope(spec))
    past.take(board[:-1])
    decoded = []
    monkeypatch.setattr(store, "from_json", lambda *args: decoded.append(args) or from_json(*args))
    past.take(board[past.number :])
    shown = view(Experiment(spec, "open"), past)
    assert (shown["number"], len(decoded)) == (10_000, 1)
    assert sum(len(lane["marks"]) for lane in shown["timeline"]["lanes"]) <= MARKS
    assert len(json.dumps(shown)) < 100_000


def test_order_matters_only_for_when_an_option_went_out():
    messages = [vote(voter, arm) for voter in "abc" for arm in (1, 2)]
    shuffled = random.Random(0).sample(messages, len(messages))
    one, other = render(messages), render(shuffled)
    for key in ("status", "answer", "facts", "number", "needed"):
        assert one[key] == other[key]
