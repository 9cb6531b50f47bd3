"""Whatever happens to a page, its browser and its server: one answer per invite, none lost."""

import pytest
from tests.browser.faults import NOISE, Clock, crash, put_back, set_aside
from tests.browser.world import Visitor, choose, click, status, survey, wait_sent

pytestmark = pytest.mark.browser


@pytest.fixture
def banner(world):
    spec = survey()
    world.url = world.open(spec)
    world.spec = spec
    world.invite = world.operator.invites(spec.name, 1)[0]
    return world


def only_answer(world, visitor):
    """The one answer on the board; whatever left the browser was the same to the last byte."""
    (answer,) = world.answers(world.spec)
    assert len(set(visitor.posted)) == 1
    assert world.verify(world.spec)
    return answer


def test_a_browser_joins_plays_and_answers_once(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    choice = choose(page)
    assert choice["name"] == banner.spec.arm_names[choice["arm"]]
    assert choice["play"] is not None
    assert (click(page), click(page)) == ("counted", "closed")
    wait_sent(page)
    answer = only_answer(banner, visitor)
    assert (answer.arm, answer.number) == (choice["arm"], 1)
    assert choose(page)["play"] is None, "it is not asked again"
    assert status(page)["trouble"] is None


def test_a_reload_keeps_the_question_and_its_noise(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    first, noise = choose(page), page.evaluate(NOISE)
    page.reload()
    page.wait_for_function("window.devote")
    visitor.join(banner.url, page=page)
    assert choose(page) == first
    assert page.evaluate(NOISE) == noise
    assert click(page) == "counted"
    assert page.evaluate(NOISE) is None, "it is forgotten with the reward"
    wait_sent(page)
    assert only_answer(banner, visitor).arm == first["arm"]


@pytest.mark.parametrize("clicks", [True, False])
def test_a_crash_keeps_the_question_and_its_noise(chromium, banner, clicks):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    first, noise = choose(page), page.evaluate(NOISE)
    if clicks:
        click(page)
    crash(page)
    page = visitor.join(banner.url)
    if not clicks:
        assert page.evaluate(NOISE) == noise
        assert choose(page) == first
    wait_sent(page)
    assert only_answer(banner, visitor).arm == first["arm"]


def test_a_page_that_dies_while_it_joins_goes_on_with_its_key(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.visit()
    page.route("**/enrolments", lambda route: (route.fetch(), crash(page)))
    page.evaluate(
        "([url, invite]) => { devote.join(url, {fallback: 'plain', invite}) }",
        [banner.url, banner.invite],
    )
    page.wait_for_event("crash", timeout=10_000)
    page = visitor.join(banner.url)
    assert status(page)["joined"], "the same key and the stored invite: again is harmless"
    choose(page)
    wait_sent(page)
    only_answer(banner, visitor)


def test_two_tabs_are_one_device(chromium, banner):
    visitor = Visitor(chromium, banner)
    pages = [visitor.visit(), visitor.visit()]
    invites = banner.operator.invites(banner.spec.name, 2)
    for page, invite in zip(pages, invites, strict=True):
        page.evaluate(
            "([url, invite]) => {"
            "window.device = devote.join(url, {fallback: 'plain', within: 9000, invite});"
            "window.first = device.choose() }",
            [banner.url, invite],
        )
    choices = [page.evaluate("async () => window.choice = await first") for page in pages]
    assert choices[0] == choices[1]
    assert choices[0]["play"] is not None
    assert sorted(map(click, pages)) == ["closed", "counted"]
    for page in pages:
        page.wait_for_function("() => device.status().replyIn === null", timeout=20_000)
    posts = [r.url.rpartition("/")[2] for r in visitor.requests if r.method == "POST"]
    assert sorted(posts) == ["enrolments", "messages"]
    only_answer(banner, visitor)


def test_a_tab_that_is_left_open_sends_what_a_closed_one_was_asked(chromium, banner):
    visitor = Visitor(chromium, banner)
    other = visitor.join(banner.url, banner.invite)
    page = visitor.join(banner.url)
    choose(page)
    click(page)
    page.close()
    wait_sent(other)
    only_answer(banner, visitor)


def test_an_answer_whose_tab_was_closed_leaves_on_the_next_visit(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    first = choose(page)
    page.close()
    waiting = visitor.visit()
    waiting.wait_for_timeout(900)
    assert visitor.posted == []
    visitor.join(banner.url, page=waiting)
    assert choose(waiting)["play"] is None, "its time is over"
    wait_sent(waiting)
    assert only_answer(banner, visitor).arm == first["arm"]


def test_a_clock_set_back_neither_sends_early_nor_holds_an_answer_for_ever(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    first = choose(page)
    page.close()
    page = visitor.visit(Clock(days=-30))
    visitor.join(banner.url, page=page)
    assert status(page)["trouble"] == "clock"
    assert 0.2 < status(page)["replyIn"] <= 0.75
    assert choose(page) == first
    assert click(page) == "counted"
    wait_sent(page)
    only_answer(banner, visitor)


def test_a_clock_that_jumps_while_the_page_is_open_changes_nothing(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    choose(page)
    Clock(days=300).now(page)
    assert click(page) == "counted"
    assert status(page)["replyIn"] > 0
    assert visitor.posted == []
    wait_sent(page)
    only_answer(banner, visitor)


def test_storage_cleared_is_a_new_visitor_whose_invite_is_used(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    choose(page)
    wait_sent(page)
    page.close()
    page = visitor.visit()
    page.evaluate("() => new Promise(r => indexedDB.deleteDatabase('devote').onsuccess = r)")
    visitor.join(banner.url, banner.invite, page=page)
    assert choose(page) == {"name": "plain", "arm": None, "play": None}
    assert status(page)["trouble"] == "invite"
    only_answer(banner, visitor)


def test_storage_cleared_under_an_open_page_costs_the_page_nothing(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    first = choose(page)
    page.evaluate("() => new Promise(r => indexedDB.deleteDatabase('devote').onsuccess = r)")
    assert page.evaluate("device.reward(1, choice).catch(error => error.code)") == "storage"
    assert choose(page)["name"] in banner.spec.arm_names
    page.wait_for_timeout(900)
    assert status(page)["trouble"] == "storage"
    assert first["play"]
    assert banner.answers(banner.spec) == []


def test_an_answer_that_is_due_offline_leaves_when_the_network_is_back(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    visitor.context.set_offline(True)
    choose(page)
    click(page)
    page.wait_for_function("() => device.status().trouble?.code === 'offline'")
    assert choose(page)["name"] in banner.spec.arm_names
    visitor.context.set_offline(False)
    wait_sent(page)
    assert status(page)["trouble"] is None
    only_answer(banner, visitor)


def test_an_acknowledgement_that_is_lost_leads_to_the_same_bytes_or_none(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    choose(page)
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/messages*", lose)
    wait_sent(page)
    assert lost == [201]
    only_answer(banner, visitor)


def test_an_older_copy_of_the_store_does_not_answer_a_second_time(chromium, banner):
    visitor = Visitor(chromium, banner)
    page = visitor.join(banner.url, banner.invite)
    set_aside(page)
    choose(page)
    wait_sent(page)
    put_back(page)
    page.reload()
    page.wait_for_function("window.devote")
    visitor.join(banner.url, page=page)
    assert choose(page)["play"] is not None, "it does not know that it was asked"
    wait_sent(page)
    assert len(visitor.posted) == 1
    only_answer(banner, visitor)


def test_several_answers_are_asked_for_one_after_the_other(chromium, world):
    spec = survey(answers=2, privacy=4.0, reply_after=0.3)
    url = world.open(spec, "open")
    visitor = Visitor(chromium, world)
    page = visitor.join(url)
    first = choose(page)
    click(page)
    assert choose(page)["play"] is None, "not before the first has left"
    wait_sent(page, 1)
    second = choose(page)
    assert second["play"] not in (None, first["play"])
    wait_sent(page, 2)
    assert choose(page)["play"] is None
    assert [answer.number for answer in world.answers(spec)] == [1, 2]
    assert world.verify(spec)
