"""The view of a survey: what its tally estimates, in bounded size and at bounded cost."""

import json

import pytest
from tests.boards.local import scope
from tests.page.board_rows import rows
from tests.page.surveys import ARMS, BETTING, SURVEY, answers

from devote.boards import store
from devote.boards.board import Experiment
from devote.boards.store import POINTS, Course, History
from devote.page.page import view
from devote.schemes.survey import tally as survey_tally

ALIKE = SURVEY.with_(epsilon=0.02, scheme={"name": "survey", "privacy": 1.0})


def render(messages, spec=SURVEY):
    past = History(spec, scope(spec))
    past.take(rows(messages))
    return past, view(Experiment(spec, "open"), past)


def test_a_view_has_each_options_estimate_in_thousandths_and_what_to_call_it():
    past, shown = render(answers()[:60])
    assert shown["leader"] == "green"
    expected = [[round(1000 * end) for end in row] for row in past.tally.estimates()]
    assert shown["estimates"] == expected
    states = [(arm["name"], arm["state"], arm["leads"]) for arm in shown["arms"]]
    assert states == [
        ("red", "out", False),
        ("green", "in the running", True),
        ("blue", "in the running", False),
        ("grey", "out", False),
    ]
    assert "true bit with probability 98.2 %" in shown["notes"][1]
    assert "probability 95 % or more" in shown["notes"][0]
    assert shown["privacy"]["standing"] == "proved"
    assert shown["timeline"]["lanes"] == []


def test_an_option_that_remains_but_is_not_asked_about_is_said_to_be_so():
    messages = answers(BETTING)
    tally = BETTING.scheme.tally(BETTING)
    for message in messages:
        tally.add(message)
        if tally.asked != tally.shared:
            break
    assert tally.status() == "open"
    _, shown = render(messages[: len(tally)], BETTING)
    states = {arm["name"]: arm["state"] for arm in shown["arms"]}
    now = {ARMS[arm] for arm in tally.asked}
    assert states == {n: "in the running" if n in now else "not asked about now" for n in ARMS}
    assert "not asked about now" in states.values()
    assert [arm["out_at"] for arm in shown["arms"]] == [None] * len(ARMS)
    _, shown = render(messages, BETTING)
    assert sorted(arm["state"] for arm in shown["arms"]) == ["out"] * 3 + ["the answer"]


def test_a_decided_survey_has_an_answer_and_nobody_leads_any_more():
    _, shown = render(answers())
    assert (shown["status"], shown["answer"], shown["leader"]) == ("agreed", ["green"], None)
    assert [arm["state"] for arm in shown["arms"]].count("the answer") == 1
    assert shown["progress"][0][3] == "76: decided"


def test_the_course_of_estimates_is_what_they_were_in_so_many_points_and_no_more():
    messages = answers(ALIKE, [0.5] * 4, most=1_000)
    past, shown = render(messages, ALIKE)
    numbers, courses = shown["timeline"]["numbers"], shown["timeline"]["courses"]
    assert POINTS / 2 <= len(numbers) <= POINTS
    assert {number % past.course.step for number in numbers} == {0}
    twin = ALIKE.scheme.tally(ALIKE)
    for number, message in enumerate(messages, start=1):
        twin.add(message)
        if number in numbers:
            expected = [row and [round(1000 * end) for end in row] for row in twin.estimates()]
            assert courses[numbers.index(number)] == expected
    assert len(json.dumps(shown)) < 20_000


@pytest.mark.parametrize(("arms", "most"), [(2, POINTS), (40, POINTS), (320, 8), (1_000, 8)])
def test_with_more_options_a_course_has_fewer_points(arms, most):
    spec = SURVEY.with_(arms=arms)
    course, tally = Course(arms), spec.scheme.tally(spec)
    for number in range(1, 300):
        course.add(number, tally)
        assert len(course.points) < most


def test_of_a_million_devices_what_is_kept_for_the_page_does_not_grow(monkeypatch):
    """A thousand stand for a million: with as many as are counted, and with one more."""
    messages = answers(ALIKE, [0.5] * 4, most=1_000)
    for voters, most in [(1_000, 1), (999, None)]:
        monkeypatch.setattr(store, "VOTERS", voters)
        past, shown = render(messages, ALIKE)
        assert shown["device"]["most"] == most
        assert len(past.sent) == voters
        assert len(past.latest) == 1


def test_how_many_answers_are_needed_is_worked_out_only_as_they_grow_by_an_eighth(monkeypatch):
    asked = []
    expected = survey_tally.answers_expected
    monkeypatch.setattr(
        survey_tally, "answers_expected", lambda *args: asked.append(1) or expected(*args)
    )
    often, seldom = ALIKE.scheme.tally(ALIKE), ALIKE.scheme.tally(ALIKE)
    for message in answers(ALIKE, [0.5] * len(ARMS), most=1_000):
        often.add(message)
        often.view()
        seldom.add(message)
    assert 20 < len(asked) < 50
    assert often.view() == seldom.view(), "it does not depend on who looked when"
