"""Whatever is wrong, the visitor sees a banner in time, and the page can tell what it is."""

import pytest
from tests.browser.site import serving_site
from tests.browser.world import Visitor, choose, click, status, survey

from devote.protocol import ExperimentSpec

pytestmark = pytest.mark.browser
PLAIN = {"name": "plain", "arm": None, "play": None}


@pytest.fixture(scope="module")
def url(world):
    return world.open(survey("open"), "open")


@pytest.fixture
def visitor(chromium, world):
    visitor = Visitor(chromium, world)
    yield visitor
    visitor.context.close()


def told(page):
    """What the page shows, and what it can say about it."""
    shown = choose(page)
    assert click(page) == "unasked"
    return shown, status(page)["trouble"]


def test_an_experiment_of_another_scheme_is_told(visitor, world):
    jury = world.open(ExperimentSpec(arms=3, name="jury", scheme="jury"), "open")
    assert told(visitor.join(jury)) == (PLAIN, "scheme")


def test_an_invite_that_was_used_is_told(chromium, visitor, world):
    spec = survey()
    url = world.open(spec)
    (invite,) = world.operator.invites(spec.name, 1)
    assert status(visitor.join(url, invite))["joined"]
    other = Visitor(chromium, world)
    page = other.join(url, invite)
    assert told(page) == (PLAIN, "invite")
    other.context.close()


def test_an_invite_that_does_not_come_is_told(visitor, world):
    spec = survey()
    page = visitor.visit()
    page.evaluate(
        "async (url) => { window.device = devote.join(url, {fallback: 'plain',"
        " invite: () => Promise.reject(new Error('the shop is closed'))}); await device.ready }",
        world.open(spec),
    )
    assert told(page) == (PLAIN, "invite")


def test_an_origin_that_is_not_allowed_is_told(visitor, url):
    with serving_site() as other:
        page = visitor.context.new_page()
        page.goto(other.origin)
        page.wait_for_function("window.devote")
        assert told(visitor.join(url, page=page)) == (PLAIN, "origin")
        message = page.evaluate("device.status().trouble.message")
        assert f"--allow-origin {other.origin}" in message


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ({"Devote-Version": "3"}, "{}", "version"),
        ({}, "{}", "server"),
        ({"Devote-Version": "2"}, "<h1>Log in to the hotel's network</h1>", "server"),
        ({"Devote-Version": "2"}, '{"board": "x", "spec": {"scheme": {}}}', "server"),
        ({"Devote-Version": "2"}, "[]", "server"),
    ],
)
def test_what_is_no_server_of_this_version_is_told(visitor, world, url, headers, body, code):
    page = visitor.visit()
    allowed = {
        "Access-Control-Allow-Origin": world.site.origin,
        "Access-Control-Expose-Headers": "Devote-Version",
    }
    page.route(f"{url}*", lambda route: route.fulfill(body=body, headers=headers | allowed))
    assert told(visitor.join(url, page=page)) == (PLAIN, code)


def test_a_specification_with_another_fingerprint_is_told(visitor, url):
    page = visitor.visit()

    def lie(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("spring", "winter"))

    page.route(url, lie)
    assert told(visitor.join(url, page=page)) == (PLAIN, "server")


def test_another_experiment_under_the_name_gets_nothing(visitor, world):
    url = world.open(survey(), "open")
    page = visitor.join(url)
    assert choose(page)["play"]
    page.route(
        f"{url}/tally",
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            body=answer.text().replace('"board":"', '"board":"0'),
        ),
    )
    page.wait_for_function("() => device.status().trouble?.code === 'changed'")
    assert choose(page)["name"] in status(page)["arms"]
    assert visitor.posted == []


def test_a_server_that_hangs_costs_the_first_visitor_the_time_given_and_no_more(visitor, url):
    page = visitor.visit()
    page.route(f"{url}*", lambda route: None)  # which is never answered
    assert (
        page.evaluate(
            "async (url) => { window.device = devote.join(url, {fallback: 'plain', within: 50});"
            " return await device.choose() }",
            url,
        )
        == PLAIN
    )


def test_a_busy_server_is_tried_again_when_it_asks_for_it(visitor, world, url):
    page = visitor.visit()
    said = {
        "Devote-Version": "2",
        "Retry-After": "1",
        "Access-Control-Allow-Origin": world.site.origin,
        "Access-Control-Expose-Headers": "Devote-Version, Retry-After",
    }
    busy = [True]

    def answer(route):
        if busy:
            route.fulfill(status=503, headers=said, body='{"error": "Later.\\nTry again."}')
        else:
            route.continue_()

    page.route(url, answer)
    visitor.join(url, page=page)
    assert told(page) == (PLAIN, "busy")
    busy.clear()
    page.wait_for_function("() => device.status().joined")


BLOCKED = {
    "throws": "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError') }",
    "never answers": "IDBFactory.prototype.open = () => ({})",
    "is not there": "Object.defineProperty(window, 'indexedDB', {value: undefined})",
    "cannot keep a key": "IDBObjectStore.prototype.put = () => {"
    " throw new DOMException('no', 'DataCloneError') }",
}


@pytest.mark.parametrize("how", BLOCKED)
def test_storage_that_is_blocked_is_told_and_not_hung_on(visitor, url, how):
    page = visitor.visit(lambda page: page.add_init_script(BLOCKED[how]))
    page.evaluate(
        "async (url) => { window.device = devote.join(url, {fallback: 'plain', within: 100}) }", url
    )
    assert choose(page) == PLAIN
    page.evaluate("device.ready")
    assert told(page) == (PLAIN, "storage")


def test_storage_that_is_full_is_told(visitor, world):
    url = world.open(survey(), "open")
    page = visitor.visit()
    quota = {"origin": world.site.origin, "quotaSize": 1}
    session = visitor.context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", quota)
    assert told(visitor.join(url, page=page)) == (PLAIN, "full")


def test_storage_that_fills_up_later_shows_the_arm_that_leads(visitor, world):
    url = world.open(survey(), "open")
    page = visitor.join(url)
    page.evaluate(
        "() => { IDBObjectStore.prototype.put = () => {"
        " throw new DOMException('no', 'QuotaExceededError') } }"
    )
    shown, trouble = told(page)
    assert (shown["name"] in status(page)["arms"], trouble) == (True, "full")


def test_a_page_without_https_is_told(visitor, world, url):
    page = visitor.context.new_page()
    page.goto(world.site.origin.replace("127.0.0.1", "shop.test"))
    page.wait_for_function("window.devote")
    assert not page.evaluate("isSecureContext")
    assert told(visitor.join(url, page=page)) == (PLAIN, "unsupported")


def test_a_browser_without_ed25519_is_told(visitor, url):
    page = visitor.visit(
        lambda page: page.add_init_script(
            "SubtleCrypto.prototype.generateKey = () =>"
            " Promise.reject(new DOMException('no', 'NotSupportedError'))"
        )
    )
    assert told(visitor.join(url, page=page)) == (PLAIN, "unsupported")


def test_a_reward_that_is_none_is_refused_and_counts_nothing(visitor, world):
    url = world.open(survey(reply_after=60.0), "open")
    page = visitor.join(url)
    choose(page)
    for value in ("2", "-1", "NaN", "'1'", "true", "undefined"):
        script = f"device.reward({value}, choice).catch((error) => [error.name, error.code])"
        assert page.evaluate(script) == ["DevoteError", "reward"]
    assert click(page, 0.5) == "counted"


def test_a_survey_that_is_decided_asks_nobody_and_shows_the_winner(visitor, world):
    url = world.open(survey(), "open")
    page = visitor.join(url)
    page.route(
        f"{url}/tally",
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            json=answer.json() | {"tally": {"status": "agreed", "answer": [2], "shared": [2]}},
        ),
    )
    assert choose(page)["play"]
    page.wait_for_function("() => device.best() === 'autumn'")
    page.wait_for_function("() => device.status().replyIn === null")
    assert choose(page) == {"name": "autumn", "arm": 2, "play": None}
    assert visitor.posted == [], "nobody wants it any more"


def test_the_key_cannot_be_read_out_of_the_browser(visitor, world):
    page = visitor.join(world.open(survey(), "open"))
    script = """() => new Promise((resolve) => {
      indexedDB.open("devote", 1).onsuccess = ({target: {result: db}}) => {
        const records = db.transaction("experiments").objectStore("experiments");
        records.getAll().onsuccess = async (got) => {
          const [{key}] = got.target.result;
          const tried = ["pkcs8", "jwk", "raw"].map((form) =>
            crypto.subtle.exportKey(form, key).then(() => "read", (error) => error.name));
          resolve([key.extractable, ...await Promise.all(tried)]);
        };
      };
    })"""
    assert page.evaluate(script) == [False] + 3 * ["InvalidAccessError"]
