"""Whatever happens to a page, its browser and its server: one answer per invite, none lost.

No test depends on how fast the machine is. Where a question must still be open, it is for a minute,
and that minute passes by setting back what the store holds of it (``pass_time``).
"""

import pytest
from tests.browser.faults import NOISE, Clock, crash, pass_time, put_back, set_aside
from tests.browser.world import choose, click, status, survey, wait_sent

pytestmark = pytest.mark.browser


class Banner:
    """A survey on the server of this module, with an invite."""

    def __init__(self, world, **how):
        self.world, self.spec = world, survey(**how)
        self.url = world.open(self.spec)
        self.invite, self.other = world.operator.invites(self.spec.name, 2)

    def only_answer(self, visitor):
        """The one answer on the board; whatever left the browser was the same to the last byte."""
        (answer,) = self.world.answers(self.spec)
        assert len(set(visitor.posted)) == 1
        assert self.world.verify(self.spec)
        return answer


@pytest.fixture
def slow(world):
    """Questions are open for a minute."""
    return Banner(world, reply_after=60.0)


@pytest.fixture
def quick(world):
    """Answers leave at once, or nearly."""
    return Banner(world, reply_after=1.0)


def come_back(visitor, banner, page):
    """Load the page again."""
    page.reload()
    page.wait_for_function("window.devote")
    visitor.join(banner.url, page=page)


def come_back_later(visitor, banner, page):
    """Load it again when the answer is due, and wait for that."""
    pass_time(page, banner.url)
    come_back(visitor, banner, page)
    wait_sent(page)


def test_a_browser_joins_plays_and_answers_once(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    choice = choose(page)
    assert choice["name"] == slow.spec.arm_names[choice["arm"]]
    assert choice["play"] is not None
    assert (click(page), click(page)) == ("counted", "closed")
    assert choose(page)["play"] is None, "it is not asked again"
    assert visitor.posted == []
    come_back_later(visitor, slow, page)
    answer = slow.only_answer(visitor)
    assert (answer.arm, answer.number) == (choice["arm"], 1)
    assert choose(page)["play"] is None
    assert status(page)["trouble"] is None


@pytest.mark.parametrize("pins", [{}, {"privacy": 2.0}])
def test_a_first_visitor_is_asked_after_one_request_with_no_preflight(visitor, slow, pins):
    """At 100 ms of latency four requests, one after the other, took longer than ``within``."""
    page = visitor.visit()
    session = visitor.context.new_cdp_session(page)
    session.send("Network.enable")
    preflights = []
    session.on(
        "Network.requestWillBeSent",
        lambda sent: preflights.append(sent) if sent["type"] == "Preflight" else None,
    )
    page = visitor.join(slow.url, slow.invite, page=page, **pins)
    assert choose(page)["play"] is not None
    paths = [request.url.removeprefix(slow.url) for request in visitor.requests]
    assert paths == ["/join"]
    assert preflights == []


def test_an_answer_leaves_an_open_page_by_itself(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    first = choose(page)
    wait_sent(page)
    assert quick.only_answer(visitor).arm == first["arm"]


def test_a_reload_keeps_the_question_and_its_noise(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    first, noise = choose(page), page.evaluate(NOISE, slow.url)
    come_back(visitor, slow, page)
    assert choose(page) == first
    assert page.evaluate(NOISE, slow.url) == noise
    assert click(page) == "counted"
    assert page.evaluate(NOISE, slow.url) is None, "it is forgotten with the reward"
    come_back_later(visitor, slow, page)
    assert slow.only_answer(visitor).arm == first["arm"]


@pytest.mark.parametrize("clicks", [True, False])
def test_a_crash_keeps_the_question_and_its_noise(visitor, slow, clicks):
    page = visitor.join(slow.url, slow.invite)
    first, noise = choose(page), page.evaluate(NOISE, slow.url)
    assert noise is not None
    if clicks:
        assert click(page) == "counted"
    crash(page)
    page = visitor.join(slow.url)
    assert page.evaluate(NOISE, slow.url) == (None if clicks else noise)
    assert choose(page) == first or clicks
    come_back_later(visitor, slow, page)
    assert slow.only_answer(visitor).arm == first["arm"]


def test_a_page_that_dies_while_it_joins_goes_on_with_its_key(visitor, slow):
    page = visitor.visit()
    page.route("**/join", lambda route: (route.fetch(), crash(page)))
    with page.expect_event("crash"):
        page.evaluate(
            "([url, invite]) => { devote.join(url, {fallback: 'plain', invite}) }",
            [slow.url, slow.invite],
        )
    page = visitor.join(slow.url)
    assert status(page)["joined"], "the same key and the stored invite: again is harmless"


def test_two_tabs_are_one_device(visitor, slow):
    pages = [visitor.visit(), visitor.visit()]
    for page, invite in zip(pages, (slow.invite, slow.other), strict=True):
        page.evaluate(
            "([url, invite]) => {"
            "window.device = devote.join(url, {fallback: 'plain', within: 30_000, invite});"
            "window.first = device.choose() }",
            [slow.url, invite],
        )
    choices = [page.evaluate("async () => window.choice = await first") for page in pages]
    assert choices[0] == choices[1]
    assert choices[0]["play"] is not None
    assert sorted(map(click, pages)) == ["closed", "counted"]
    come_back_later(visitor, slow, pages[0])
    assert choose(pages[1])["play"] is None
    posts = [r.url.rpartition("/")[2] for r in visitor.requests if r.method == "POST"]
    assert sorted(posts) == ["join", "messages"]
    slow.only_answer(visitor)


def test_a_tab_that_is_left_open_sends_what_a_closed_one_was_asked(visitor, quick):
    other = visitor.join(quick.url, quick.invite)
    page = visitor.join(quick.url)
    choose(page)
    page.close()
    wait_sent(other)
    quick.only_answer(visitor)


def test_an_answer_whose_tab_was_closed_leaves_on_the_next_visit(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    first = choose(page)
    page.close()
    page = visitor.visit()
    pass_time(page, slow.url)
    assert visitor.posted == []
    visitor.join(slow.url, page=page)
    assert choose(page)["play"] is None, "its time is over"
    wait_sent(page)
    assert slow.only_answer(visitor).arm == first["arm"]


def test_a_clock_set_back_neither_sends_early_nor_holds_an_answer_for_ever(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    first = choose(page)
    page.close()
    page = visitor.visit(Clock(days=-30))
    visitor.join(slow.url, page=page)
    assert status(page)["trouble"] == "clock"
    assert 0 < status(page)["replyIn"] <= 75
    assert choose(page) == first
    assert click(page) == "counted"
    assert visitor.posted == []
    come_back_later(visitor, slow, page)
    slow.only_answer(visitor)


def test_a_clock_that_jumps_while_the_page_is_open_changes_nothing(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    choose(page)
    Clock(days=300).now(page)
    assert choose(page)["play"] is not None
    assert click(page) == "counted"
    assert status(page)["replyIn"] > 0
    assert visitor.posted == []


def test_storage_cleared_is_a_new_visitor_whose_invite_is_used(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    choose(page)
    wait_sent(page)
    page.close()
    page = visitor.visit()
    page.evaluate("() => new Promise(r => indexedDB.deleteDatabase('devote').onsuccess = r)")
    visitor.join(quick.url, quick.invite, page=page)
    assert choose(page) == {"name": "plain", "arm": None, "play": None}
    assert status(page)["trouble"] == "invite"
    quick.only_answer(visitor)


def test_storage_cleared_under_an_open_page_costs_the_page_nothing(visitor, slow):
    page = visitor.join(slow.url, slow.invite)
    choose(page)
    page.evaluate("() => new Promise(r => indexedDB.deleteDatabase('devote').onsuccess = r)")
    assert page.evaluate("device.reward(1, choice).catch(error => error.code)") == "storage"
    assert choose(page)["name"] in slow.spec.arm_names
    assert status(page)["trouble"] == "storage"


def test_an_answer_that_is_due_offline_leaves_when_the_network_is_back(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    visitor.context.set_offline(True)
    choose(page)
    page.wait_for_function("() => device.status().trouble?.code === 'offline'")
    assert choose(page)["name"] in quick.spec.arm_names
    visitor.context.set_offline(False)
    wait_sent(page)
    assert status(page)["trouble"] is None
    quick.only_answer(visitor)


def test_a_server_that_is_stopped_in_between_gets_the_answer_when_it_is_back(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    quick.world.server.kill()
    choose(page)
    page.wait_for_function("() => device.status().trouble?.code === 'offline'")
    quick.world.server.start()
    wait_sent(page)
    quick.only_answer(visitor)


def test_an_acknowledgement_that_is_lost_leads_to_the_same_bytes_or_none(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/messages*", lose)
    choose(page)
    wait_sent(page)
    assert lost == [201]
    quick.only_answer(visitor)


def test_an_older_copy_of_the_store_does_not_answer_a_second_time(visitor, quick):
    page = visitor.join(quick.url, quick.invite)
    set_aside(page, quick.url)
    choose(page)
    wait_sent(page)
    put_back(page, quick.url)
    come_back(visitor, quick, page)
    assert choose(page)["play"] is not None, "it does not know that it was asked"
    wait_sent(page)
    assert len(visitor.posted) == 1
    quick.only_answer(visitor)


def test_several_answers_are_asked_for_one_after_the_other(visitor, world):
    banner = Banner(world, answers=2, privacy=4.0, reply_after=60.0)
    page = visitor.join(banner.url, banner.invite)
    first = choose(page)
    click(page)
    assert choose(page)["play"] is None, "not before the first has left"
    come_back_later(visitor, banner, page)
    second = choose(page)
    assert second["play"] not in (None, first["play"])
    pass_time(page, banner.url)
    come_back(visitor, banner, page)
    wait_sent(page, 2)
    assert choose(page)["play"] is None
    assert [answer.number for answer in world.answers(banner.spec)] == [1, 2]
    assert world.verify(banner.spec)
