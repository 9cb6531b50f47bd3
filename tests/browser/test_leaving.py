"""A visitor who leaves the page: the next page of the site sends the answer, or this one does."""

import time

import pytest
from tests.browser.faults import pass_time
from tests.browser.world import Visitor, choose, click, survey, wait_sent
from tests.tools import until

pytestmark = pytest.mark.browser

RESUME = """async () => {
  window.device = null;
  window.devices = await devote.resume();
  window.device = devices[0];
  return devices.length;
}"""


class Left:
    """A survey without noise, so that the bit is the click, and one visitor of it."""

    def __init__(self, chromium, world):
        self.world, self.visitor = world, Visitor(chromium, world)
        self.spec = survey(reply_after=60.0, privacy=None)
        self.url = world.open(self.spec, "open")

    def asked(self, *, clicks, **options):
        """A page that was asked and perhaps clicked."""
        page = self.visitor.join(self.url, **options)
        self.choice = choose(page)
        assert self.choice["play"] is not None
        if clicks:
            assert click(page) == "counted"
        return page

    def next_page(self, page):
        """Another page of the site, which does not join."""
        page.goto(f"{self.world.site.origin}/?next")
        page.wait_for_function("window.devote")

    def wait_for_answer(self):
        deadline = time.monotonic() + 60.0
        while not (answers := self.world.answers(self.spec)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (answer,) = answers
        return answer


@pytest.fixture
def left(chromium, world):
    left = Left(chromium, world)
    yield left
    left.visitor.context.close()


@pytest.mark.parametrize("clicks", [True, False])
def test_the_next_page_of_a_site_sends_what_is_due(left, clicks):
    page = left.asked(clicks=clicks)
    pass_time(page, left.url)
    left.next_page(page)
    assert left.visitor.posted == []
    assert page.evaluate(RESUME) == 1
    wait_sent(page)
    answer = left.wait_for_answer()
    assert (answer.arm, answer.bit) == (left.choice["arm"], clicks)


def test_a_page_that_resumes_has_no_device_where_nothing_waits(left):
    page = left.visitor.visit()
    assert page.evaluate(RESUME) == 0
    page.evaluate("() => { indexedDB.open = () => { throw new Error('blocked') } }")
    assert page.evaluate(RESUME) == 0
    assert left.visitor.requests == []


@pytest.mark.parametrize("clicks", [True, False])
def test_a_page_that_is_left_sends_its_answer_click_or_not(left, clicks):
    """Once; a later visit finds it on the board and sends nothing else."""
    page = left.asked(clicks=clicks, leave="send")
    assert left.world.answers(left.spec) == []
    page.goto("about:blank")
    answer = left.wait_for_answer()
    assert (answer.arm, answer.bit) == (left.choice["arm"], clicks)
    left.next_page(page)
    left.visitor.join(left.url, page=page)
    pass_time(page, left.url)
    page.reload()
    page.wait_for_function("window.devote")
    left.visitor.join(left.url, page=page)
    wait_sent(page)
    assert len(left.world.answers(left.spec)) == 1
    assert left.world.verify(left.spec)


def test_an_answer_that_was_lost_with_its_page_is_sent_again_and_the_same(left):
    """Nor can the question be rewarded any more: its answer without a click has left, perhaps."""
    page = left.asked(clicks=False, leave="send")
    pass_time(page, left.url)
    left.visitor.context.set_offline(True)
    page.evaluate("() => dispatchEvent(new Event('pagehide'))")
    assert click(page) == "closed"
    left.visitor.context.set_offline(False)
    left.next_page(page)
    left.visitor.join(left.url, page=page, leave="send")
    assert choose(page)["play"] is None
    wait_sent(page)
    assert left.wait_for_answer().bit == 0


def test_nothing_is_sent_with_a_page_while_its_click_is_being_stored(left):
    """What is sent must be in the store; this click is sent by the next page."""
    page = left.asked(clicks=False, leave="send")
    fate = page.evaluate(
        "() => { const fate = device.reward(1, choice); dispatchEvent(new Event('pagehide'));"
        " return fate; }"
    )
    assert fate == "counted"
    assert left.visitor.posted == []
    pass_time(page, left.url)
    left.next_page(page)
    assert page.evaluate(RESUME) == 1
    wait_sent(page)
    assert left.wait_for_answer().bit == 1


def test_an_option_that_is_withdrawn_is_not_shown_again_to_who_was_asked_about_it(left):
    page = left.asked(clicks=False)
    left.world.operator.withdraw(left.spec.name, left.choice["name"])
    left.visitor.join(left.url, page=page)
    until(lambda: choose(page)["play"] is None)
    assert choose(page)["name"] != left.choice["name"]


SLOW_TO_SIGN = """() => {
  const sign = crypto.subtle.sign.bind(crypto.subtle);
  crypto.subtle.sign = async (...given) => {
    await new Promise((done) => setTimeout(done, 3_000));
    return sign(...given);
  };
}"""


def test_a_question_that_was_too_late_to_be_shown_is_taken_back(left):
    """A browser that was slow to sign it beforehand answered for an arm that nobody saw."""
    page = left.visitor.join(left.url, leave="send", within=1_500)
    page.evaluate("device.ready")
    page.evaluate(SLOW_TO_SIGN)
    assert choose(page)["play"] is None
    page.wait_for_function("() => device.status().replyIn === null", timeout=15_000)
