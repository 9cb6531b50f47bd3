"""Whether a browser takes part, as its page has set: traffic, exclusive, budget, consent, sticky.

Who stays out sends nothing, always shows the fallback, and says why.
"""

import pytest
import scipy
from tests.browser.world import Visitor, choose, click, status, survey

pytestmark = pytest.mark.browser

MANY = """async ([server, name, options, count]) => {
  const found = [];
  for (let n = 0; n < count; n++) {
    const url = `${server}/${n}/../experiments/${name}`;
    const device = devote.join(url, {fallback: "plain", within: 30_000, ...options});
    const first = await device.choose();
    await device.reward(0, first);
    found.push([first.name, (await device.choose()).name, device.status().trouble?.code ?? null]);
    device.close();
  }
  return found;
}"""


@pytest.fixture
def visitor(chromium, world):
    visitor = Visitor(chromium, world)
    yield visitor
    visitor.context.close()


@pytest.fixture
def join(visitor, world):
    """Join a survey of this e on a new page; gives the page."""

    def join(privacy=2.0, spec=None, **options):
        spec = spec or survey(reply_after=60.0, privacy=privacy)
        url = f"{world.address}/experiments/{spec.name}"
        if spec.name not in world.operator_names:
            world.open(spec, "open")
            world.operator_names.add(spec.name)
        return visitor.join(url, **options)

    world.operator_names = set()
    return join


def enrolled(visitor):
    """How many requests to join have left."""
    return sum(request.url.endswith("/join") for request in visitor.requests)


def stays_out(page, code):
    choice = choose(page)
    assert (choice["name"], choice["play"]) == ("plain", None)
    assert click(page) == "unasked"
    assert status(page)["trouble"] == code
    assert not status(page)["joined"]


@pytest.mark.parametrize(
    "limits", [{"traffic": 0}, {"traffic": 1.1}, {"traffic": "all"}, {"budget": 0}, {"budget": -1}]
)
def test_limits_that_are_none_are_told(join, visitor, limits):
    stays_out(join(**limits), "limits")
    assert visitor.requests == []


def test_a_browser_that_is_not_in_the_traffic_stays_out_until_that_is_raised(join, visitor):
    spec = survey(reply_after=60.0)
    for _ in range(2):
        stays_out(join(spec=spec, traffic=1e-12), "out")
    assert visitor.requests == []
    assert choose(join(spec=spec, traffic=1))["play"] is not None
    assert choose(join(spec=spec, traffic=1e-12))["play"] is not None, "it takes part already"


def test_traffic_takes_its_share_of_browsers(visitor, world):
    """False alarm 1e-6; a share of .8 is found with probability .95."""
    world.open(spec := survey(reply_after=60.0), "open")
    count = 80
    found = visitor.visit().evaluate(MANY, [world.address, spec.name, {"traffic": 0.5}, count])
    out = [first == second == "plain" for first, second, trouble in found if trouble == "out"]
    assert all(out)
    assert scipy.stats.binomtest(len(out), count, 0.5).pvalue > 1e-6


def test_of_an_exclusive_group_a_browser_joins_the_first_only(join, visitor):
    first = survey(reply_after=60.0)
    assert choose(join(spec=first, exclusive="checkout"))["play"] is not None
    assert choose(join(exclusive="search"))["play"] is not None
    assert choose(join())["play"] is not None
    joins = enrolled(visitor)
    stays_out(join(exclusive="checkout"), "out")
    assert enrolled(visitor) == joins
    assert status(join(spec=first, exclusive="checkout"))["joined"]


def test_a_budget_is_the_sum_of_privacy_over_the_surveys_of_an_origin(join, visitor):
    for privacy in (2.0, 0.5):
        assert status(join(privacy, budget=3))["joined"]
    too_much = survey(reply_after=60.0, privacy=1.0)
    stays_out(join(spec=too_much, budget=3), "out")
    assert enrolled(visitor) == 2, "the server is not told what is left"
    sent = [request.post_data_json for request in visitor.requests if request.url.endswith("/join")]
    assert not any("privacy" in each for each in sent)
    assert status(join(0.5, budget=3))["joined"]
    joins = enrolled(visitor)
    stays_out(join(0.1, budget=3), "out")
    assert enrolled(visitor) == joins
    assert status(join(0.1, budget=4))["joined"]


def test_a_board_that_denies_an_answer_does_not_give_its_budget_back(join, visitor):
    """It has the answer, refuses it and then the browser; the next survey got all of the budget."""
    spec = survey(reply_after=1.0, privacy=2.0)
    page = join(spec=spec, budget=3)
    assert choose(page)["play"] is not None

    def deny(route):
        answer = route.fetch()
        status = 403 if route.request.url.endswith("/messages") else 200
        route.fulfill(response=answer, status=status, json={**answer.json(), "outcome": "refused"})

    for path in ("**/messages", "**/join"):
        visitor.context.route(path, deny)
    said = "() => device.status().trouble?.message.includes('does not take this browser')"
    page.wait_for_function(said)
    page.close()
    for path in ("**/messages", "**/join"):
        visitor.context.unroute(path)
    stays_out(join(2.0, budget=3), "out")


def test_a_join_whose_answer_was_lost_is_counted_until_it_is_known(join, visitor):
    lost = survey(reply_after=60.0, privacy=1.0)
    visitor.context.route("**/join", lambda route: (route.fetch(), route.abort()))
    stays_out(join(spec=lost, budget=3), "origin")
    visitor.context.unroute("**/join")
    stays_out(join(1.0, budget=3), "out")
    assert status(join(spec=lost, budget=3))["joined"]
    assert status(join(2.0, budget=3))["joined"]


def test_before_consent_nothing_is_stored_or_sent_and_afterwards_it_joins(join, visitor):
    page = join(consent="required")
    for _ in range(2):
        stays_out(page, "consent")
    assert page.evaluate("indexedDB.databases()") == []
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert visitor.requests == []
    page.evaluate("device.consent()")
    assert choose(page)["play"] is not None
    assert status(page)["trouble"] is None


def test_a_sticky_page_shows_the_arm_of_its_question_until_there_is_an_answer(visitor, world):
    """Others show the leader: that all 13 are asked about it has probability 6e-7."""
    world.open(spec := survey(reply_after=60.0), "open")
    page = visitor.visit()
    found = page.evaluate(MANY, [world.address, spec.name, {"sticky": True}, 13])
    assert all(first == second for first, second, _ in found)
    world.open(spec := survey(reply_after=60.0), "open")
    found = page.evaluate(MANY, [world.address, spec.name, {}, 13])
    assert any(first != second for first, second, _ in found)
