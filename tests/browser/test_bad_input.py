"""Whatever is wrong, the visitor sees a banner in time, and the page can tell what it is."""

import itertools
import json
from contextlib import contextmanager

import pytest
from tests.browser.site import serving_site
from tests.browser.world import Visitor, choose, click, status, survey, wait_sent

from devote.protocol import ExperimentSpec
from devote.protocol.messages import digest

pytestmark = pytest.mark.browser
_spellings = itertools.count(1)
PLAIN = {"name": "plain", "arm": None, "play": None}


@pytest.fixture(scope="module")
def url(world):
    return world.open(survey("open"), "open")


@pytest.fixture(scope="module")
def only(shared):
    """One page for all tests: devices of different addresses know nothing of each other."""
    return shared.visit()


@pytest.fixture
def page(only):
    yield only
    only.unroute_all()


@pytest.fixture
def fresh(world, url):
    """The address of the open survey, written as nobody has written it before."""
    return f"{world.address}/{next(_spellings)}/../experiments/open"


@contextmanager
def replaced(page, owner, name, value):
    """A property of the page's world is another for a while."""
    page.evaluate(
        f"() => {{ window.was = Object.getOwnPropertyDescriptor({owner}, '{name}');"
        f" Object.defineProperty({owner}, '{name}', {{value: {value}, configurable: true}}) }}"
    )
    yield
    page.evaluate(f"() => {{ Object.defineProperty({owner}, '{name}', window.was) }}")


def told(page):
    """What the page shows, and what it can say about it."""
    shown = choose(page)
    assert click(page) == "unasked"
    return shown, status(page)["trouble"]


def test_an_experiment_of_another_scheme_is_told(shared, page, world):
    jury = world.open(ExperimentSpec(arms=3, name="jury", scheme="jury"), "open")
    assert told(shared.join(jury, page=page)) == (PLAIN, "scheme")


def test_an_invite_that_was_used_is_told(shared, page, world):
    spec = survey()
    url = world.open(spec)
    (invite,) = world.operator.invites(spec.name, 1)
    assert status(shared.join(url, invite, page=page))["joined"]
    other = url.replace("/experiments", "/other/../experiments")
    assert told(shared.join(other, invite, page=page)) == (PLAIN, "invite")


def test_an_invite_that_does_not_come_is_told(page, world):
    spec = survey()
    page.evaluate(
        "async (url) => { window.device = devote.join(url, {fallback: 'plain',"
        " invite: () => Promise.reject(new Error('the shop is closed'))}); await device.ready }",
        world.open(spec),
    )
    assert told(page) == (PLAIN, "invite")


def test_an_origin_that_is_not_allowed_is_told(shared, url):
    with serving_site() as other:
        page = shared.context.new_page()
        page.goto(other.origin)
        page.wait_for_function("window.devote")
        assert told(shared.join(url, page=page)) == (PLAIN, "origin")
        message = page.evaluate("device.status().trouble.message")
        page.close()
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
def test_what_is_no_server_of_this_version_is_told(
    shared, page, world, url, fresh, headers, body, code
):
    allowed = {
        "Access-Control-Allow-Origin": world.site.origin,
        "Access-Control-Expose-Headers": "Devote-Version",
    }
    page.route(f"{url}/**", lambda route: route.fulfill(body=body, headers=headers | allowed))
    assert told(shared.join(fresh, page=page)) == (PLAIN, code)


def test_a_specification_with_another_fingerprint_is_told(shared, page, url, fresh):
    def lie(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("spring", "winter"))

    page.route(f"{url}/join", lie)
    assert told(shared.join(fresh, page=page)) == (PLAIN, "server")


def test_another_experiment_under_the_name_gets_nothing(shared, page, world):
    url = world.open(survey(), "open")
    shared.requests.clear()
    shared.join(url, page=page)
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
    assert shared.posted == []


def test_a_server_that_hangs_costs_the_first_visitor_the_time_given_and_no_more(page, url, fresh):
    page.route(f"{url}/**", lambda route: None)  # which is never answered
    assert (
        page.evaluate(
            "async (url) => { window.device = devote.join(url, {fallback: 'plain', within: 50});"
            " return await device.choose() }",
            url,
        )
        == PLAIN
    )


def test_a_busy_server_is_tried_again_when_it_asks_for_it(shared, page, world, url, fresh):
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

    page.route(f"{url}/join", answer)
    shared.join(fresh, page=page)
    assert told(page) == (PLAIN, "busy")
    busy.clear()
    page.wait_for_function("() => device.status().joined")


def test_a_server_cannot_ask_to_be_left_alone_for_good(shared, page, world, url, fresh):
    said = {
        "Devote-Version": "2",
        "Retry-After": "99999999",
        "Access-Control-Allow-Origin": world.site.origin,
        "Access-Control-Expose-Headers": "Devote-Version, Retry-After",
    }
    page.route(f"{url}/**", lambda route: route.fulfill(status=503, headers=said, body="{}"))
    shared.join(fresh, page=page)
    assert told(page) == (PLAIN, "busy")
    assert page.evaluate("device.status().trouble.retryAfter") == 3600


STORED = """(url) => new Promise((resolve) => {
  indexedDB.open("devote", 1).onsuccess = ({target: {result: db}}) => {
    db.transaction("experiments").objectStore("experiments").get(url).onsuccess = (event) => {
      db.close();
      resolve(event.target.result !== undefined && event.target.result.survey.arms.length > 0);
    };
  };
})"""


@pytest.mark.parametrize(
    ("offered", "pins"),
    [(2.0, {"privacy": 1.0}), (None, {"privacy": 8.0}), (2.0, {"fingerprint": "0" * 64})],
)
def test_a_survey_that_the_page_does_not_accept_is_not_joined(shared, page, world, offered, pins):
    url = world.open(spec := survey(privacy=offered))
    (invite,) = world.operator.invites(spec.name, 1)
    assert told(shared.join(url, invite, page=page, **pins)) == (PLAIN, "pinned")
    assert not page.evaluate(STORED, url)
    # The invite is still good, where the page accepts what is offered.
    other = url.replace("/experiments", "/other/../experiments")
    pins = {"fingerprint": spec.fingerprint} | ({"privacy": 2.0} if offered else {})
    assert status(shared.join(other, invite, page=page, **pins))["joined"]
    # Who has joined is asked nothing under other terms.
    shared.join(other, page=page, privacy=1.0)
    choose(page)
    assert page.evaluate("choice.play") is None
    assert status(page)["trouble"] == "pinned"


def test_what_has_left_is_still_counted_after_the_board_has_lost_it(shared, world):
    url = world.open(survey(), "open")
    page = shared.join(url)
    choose(page)
    wait_sent(page)
    number = [1]

    def fewer(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"number": number[0]})

    shared.requests.clear()
    page.route(f"{url}/tally", fewer)
    page.route(f"{url}/messages", lambda route: route.abort())
    for number[0] in (1, 0):
        with page.expect_response(f"{url}/tally"):
            page.reload()
            page.wait_for_function("window.devote")
            shared.join(url, page=page)
    page.wait_for_function("() => device.status().trouble?.code === 'offline'")
    assert shared.posted, "it is offered again"
    assert status(page)["sent"] == 1
    page.close()


NO = "() => { throw new DOMException('no', 'SecurityError') }"
BLOCKED = {
    "throws": ("IDBFactory.prototype", "open", NO),
    "never answers": ("IDBFactory.prototype", "open", "() => ({})"),
    "is not there": ("window", "indexedDB", "undefined"),
    "cannot keep a key": ("IDBObjectStore.prototype", "put", NO.replace("Security", "DataClone")),
}


@pytest.mark.parametrize("how", BLOCKED)
def test_storage_that_is_blocked_is_told_and_not_hung_on(page, fresh, how):
    with replaced(page, *BLOCKED[how]):
        page.evaluate(
            "(url) => { window.device = devote.join(url, {fallback: 'plain', within: 100}) }", fresh
        )
        assert choose(page) == PLAIN
        page.evaluate("device.ready")
        assert told(page) == (PLAIN, "storage")


def test_storage_that_is_full_is_told(chromium, world, url):
    visitor = Visitor(chromium, world)
    page = visitor.visit()
    session = visitor.context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": world.site.origin, "quotaSize": 1})
    assert told(visitor.join(url, page=page)) == (PLAIN, "full")
    visitor.context.close()


def test_storage_that_fills_up_later_shows_the_arm_that_leads(shared, page, fresh):
    shared.join(fresh, page=page)
    full = NO.replace("Security", "QuotaExceeded")
    with replaced(page, "IDBObjectStore.prototype", "put", full):
        shown, trouble = told(page)
    assert (shown["name"] in status(page)["arms"], trouble) == (True, "full")


def test_a_page_without_https_is_told(shared, world, url):
    page = shared.context.new_page()
    page.goto(world.site.origin.replace("127.0.0.1", "shop.test"))
    page.wait_for_function("window.devote")
    assert not page.evaluate("isSecureContext")
    assert told(shared.join(url, page=page)) == (PLAIN, "unsupported")
    page.close()


def test_a_browser_without_ed25519_is_told(shared, page, fresh):
    no = "() => Promise.reject(new DOMException('no', 'NotSupportedError'))"
    with replaced(page, "SubtleCrypto.prototype", "generateKey", no):
        assert told(shared.join(fresh, page=page)) == (PLAIN, "unsupported")


def test_a_reward_that_is_none_is_refused_and_counts_nothing(shared, page, world):
    shared.join(world.open(survey(reply_after=60.0), "open"), page=page)
    choose(page)
    for value in ("2", "-1", "NaN", "'1'", "true", "undefined"):
        script = f"device.reward({value}, choice).catch((error) => [error.name, error.code])"
        assert page.evaluate(script) == ["DevoteError", "reward"]
    assert click(page, 0.5) == "counted"


@pytest.mark.parametrize("field", ["privacy", "answers", "reply_after"])
def test_a_specification_that_leaves_out_what_it_must_name_is_told(shared, page, url, fresh, field):
    """Its fingerprint is right: a client that assumed a default would go on."""

    def lie(route):
        answer = route.fetch()
        told = answer.json()
        del told["spec"]["scheme"][field]
        route.fulfill(response=answer, json=told | {"fingerprint": digest(told["spec"])})

    page.route(f"{url}/join", lie)
    assert told(shared.join(fresh, page=page)) == (PLAIN, "server")


OPEN = {"status": "open", "answer": [1, 0], "shared": [0, 1], "asked": [0, 1], "snapshot": 7}
DECIDED = {"status": "agreed", "answer": [2], "shared": [2], "asked": [2], "snapshot": 9}
NONSENSE = {
    "nothing is asked": OPEN | {"asked": []},
    "an arm that is out is asked about": OPEN | {"asked": [0, 2]},
    "an arm is asked about twice": OPEN | {"asked": [1, 1]},
    "there is no such arm": OPEN | {"asked": [0, 3]},
    "it does not say what is asked": {k: v for k, v in OPEN.items() if k != "asked"},
    "arms are named": OPEN | {"asked": ["0"]},
    "the snapshot has no number": {k: v for k, v in OPEN.items() if k != "snapshot"},
    "the snapshot is below 0": OPEN | {"snapshot": -1},
    "the snapshot is no whole number": OPEN | {"snapshot": 7.5},
    "the snapshot is too large": OPEN | {"snapshot": 2**54},
    "the snapshot is a text": OPEN | {"snapshot": "7"},
    "the answer has other arms": OPEN | {"answer": [0, 2]},
    "it is decided on two arms": OPEN | {"status": "agreed"},
}


def tell(page, url, *tallies):
    """The server answers a join, and then each read of the tally, with these; the last stays."""
    left = [*tallies]

    def answer(route):
        response = route.fetch()
        tally = {"tally": left.pop(0) if len(left) > 1 else left[0]}
        values = response.json()
        is_join = route.request.url.endswith("/join")
        told = {"tally": values["tally"] | tally} if is_join else tally
        route.fulfill(response=response, json=values | told)

    for path in ("join", "tally"):
        page.route(f"{url}/{path}", answer)


@pytest.mark.parametrize("tally", [*NONSENSE.values(), OPEN], ids=[*NONSENSE, "right"])
def test_a_tally_that_is_none_is_told_and_nothing_is_drawn_from_it(shared, page, url, fresh, tally):
    tell(page, url, tally)
    shared.join(fresh, page=page)
    is_right = tally is OPEN
    assert status(page)["trouble"] == (None if is_right else "server")
    assert status(page)["leader"] == ("summer" if is_right else None)


def test_an_arm_is_drawn_among_those_asked_and_its_answer_says_from_which_snapshot(
    shared, page, world
):
    """The answer is sent although nobody asks about its arm any more."""
    url = world.open(spec := survey(), "open")
    shared.requests.clear()
    tell(page, url, OPEN | {"asked": [1]}, OPEN | {"asked": [0], "snapshot": 8})
    shared.join(url, page=page)
    assert choose(page)["name"] == "summer"
    wait_sent(page)
    (body,) = map(json.loads, shared.posted)
    assert (body["message"]["arm"], body["message"]["seen"]) == (1, 7)
    assert world.answers(spec) != []


def test_a_survey_that_is_decided_asks_nobody_and_shows_the_winner(shared, page, world):
    url = world.open(survey(), "open")
    shared.requests.clear()
    shared.join(url, page=page)
    page.route(
        f"{url}/tally",
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            json=answer.json() | {"tally": DECIDED},
        ),
    )
    assert choose(page)["play"]
    page.wait_for_function("() => device.best() === 'autumn'")
    page.wait_for_function("() => device.status().replyIn === null")
    assert choose(page) == {"name": "autumn", "arm": 2, "play": None}
    assert shared.posted == [], "nobody wants it any more"


def test_the_key_cannot_be_read_out_of_the_browser(shared, page, fresh):
    shared.join(fresh, page=page)
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
