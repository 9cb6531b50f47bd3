"""A visitor's browser joins a survey, is asked once, and answers, on a real server."""

import pytest
from tests.browser.world import ARMS, Visitor, choose, click, status, survey, wait_sent

pytestmark = pytest.mark.browser


def test_a_browser_joins_plays_and_answers(chromium, world):
    spec = survey()
    url = world.open(spec)
    (invite,) = world.operator.invites(spec.name, 1)
    visitor = Visitor(chromium, world)
    page = visitor.join(url, invite)
    choice = choose(page)
    assert choice["name"] == ARMS[choice["arm"]]
    assert choice["play"] is not None
    assert click(page) == "counted"
    assert click(page) == "closed"
    wait_sent(page)
    (answer,) = world.answers(spec)
    assert (answer.arm, answer.number) == (choice["arm"], 1)
    assert world.verify(spec)
    assert choose(page)["play"] is None, "it is not asked again"
    assert status(page)["trouble"] is None
    assert len(visitor.posted) == 1
