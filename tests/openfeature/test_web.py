"""The provider in a page: the same scenarios in Chromium, and what only a page does."""

import json
import time

import pytest
from tests.browser.site import ROOT, serving_site
from tests.browser.world import World
from tests.openfeature.flags import SETTLED, flags, open_flags
from tests.openfeature.steps import SCENARIOS, TARGET, step
from tests.tools import free_port, missing

from devote.boards.board import Experiment
from devote.protocol import ExperimentSpec
from devote.schemes import Survey

pytestmark = pytest.mark.browser

SDK = "clients/openfeature-web/node_modules/@openfeature"
IMPORTS = {
    "devote": "/clients/js/dist/devote.js",
    "@openfeature/core": f"/{SDK}/core/dist/esm/index.js",
    "@openfeature/web-sdk": f"/{SDK}/web-sdk/dist/esm/index.js",
}
PAGE = """<!doctype html><meta charset="utf-8"><title>Flags</title><link rel="icon" href="data:,">
<script type="importmap">{"imports": IMPORTS}</script>
<script type="module">
  import { OpenFeature } from "@openfeature/web-sdk";
  import { DevoteProvider } from "/clients/openfeature-web/dist/openfeature-web.js";
  window.seen = {};
  window.client = OpenFeature.getClient();
  window.setContext = (context) => OpenFeature.setContext(context);
  window.set = (address, flags, options) => {
    const provider = new DevoteProvider(address, { flags, within: 30_000, ...options });
    return OpenFeature.setProviderAndWait(provider).catch(() => undefined);
  };
</script>""".replace("IMPORTS", json.dumps(IMPORTS))
KINDS = {"Integer": "Number", "Float": "Number"}
DEADLINE = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not (ROOT / SDK / "web-sdk").exists():
        missing("The provider for pages is tested with npm's modules: make client")
    with serving_site() as site, World(site, tmp_path_factory.mktemp("server")) as world:
        site.changed["flags.html"] = PAGE.encode()
        open_flags(world.operator)
        yield world


class Pages:
    """Pages that use the web SDK, in a context of its own for each user."""

    def __init__(self, server, chromium) -> None:
        self.server, self.chromium, self.user, self.state = server, chromium, TARGET, "stable"
        self._pages = {}

    def page(self, user):
        if user not in self._pages:
            self._pages[user] = self.chromium.new_context().new_page()
            self.open(self._pages[user])
        return self._pages[user]

    def open(self, page):
        page.goto(f"{self.server.site.origin}/flags.html")
        page.wait_for_function("() => typeof window.set === 'function'")

    def set(self, page, *names, **options):
        address = options.pop("address", self.server.address)
        meanings = {name: flags().get(name, {}) for name in names}
        page.evaluate("(given) => set(...given)", [address, meanings, options])

    def provider(self, state):
        self.state = state
        address = {
            "error": f"http://127.0.0.1:{free_port()}",
            "fatal": f"{self.server.address}/metrics?",
        }
        if state != "not ready":
            where = address.get(state, self.server.address)
            self.set(self.page(TARGET), "open-flag", address=where)

    def evaluate(self, kind, key, default, user):
        page = self.page(user)
        if self.state == "stable":
            self.set(page, *([key] if key in (*SETTLED, *flags(), "open-flag") else []))
        start = "set(address, {[key]: {}});" if self.state == "not ready" else ""
        return page.evaluate(
            f"([address, kind, key, standard]) => {{ {start}"
            " return client[`get${kind}Details`](key, standard); }",
            [self.server.address, KINDS.get(kind, kind), key, default],
        )

    def track(self, event, user, value):
        details = {} if value is None else {"value": value}
        self.page(user).evaluate("(given) => client.track(...given)", [event, details])

    def watch(self, event):
        self.page(TARGET).evaluate(
            "(event) => client.addHandler(event, () => (seen[event] = true))", event
        )

    def wait_for(self, event):
        self.page(TARGET).wait_for_function("(event) => seen[event]", arg=event)

    def status(self):
        return self.page(TARGET).evaluate("client.providerStatus")

    def answer(self, key):
        until = time.monotonic() + DEADLINE
        while not (answers := self.server.operator.messages(key, 2)):
            assert time.monotonic() < until
            time.sleep(0.05)
        ((_, answer),) = answers
        return answer.bit

    def end(self):
        for page in self._pages.values():
            page.context.close()


@pytest.fixture
def pages(server, chromium):
    pages = Pages(server, chromium)
    yield pages
    pages.end()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_standard(scenario, pages):
    step.run(scenario, pages)


def test_a_page_that_knows_only_openfeature_runs_an_experiment_to_its_end(server, pages):
    """Everybody clicks the right banner and nobody the left: 40 visitors are more than it takes."""
    scheme = Survey(privacy=None, reply_after=1.0)
    spec = ExperimentSpec(
        arms=("left", "right"), name="whole", epsilon=0.5, delta=0.25, scheme=scheme
    )
    server.open(Experiment(spec, "open").spec, "open")
    meaning = {"whole": {"rewards": {"click": 1}}}
    show = "() => client.getStringDetails('whole', 'neither')"
    for user in range(40):
        page = pages.page(user)
        page.evaluate("(given) => set(...given)", [server.address, meaning, {}])
        shown = page.evaluate(show)
        if shown["reason"] == "STATIC":
            break
        if shown["value"] == "right":
            page.evaluate("client.track('click')")
    one = pages.page(0)
    until = time.monotonic() + DEADLINE
    while (shown := one.evaluate(show))["reason"] != "STATIC":
        assert time.monotonic() < until
        pages.open(one)
        one.evaluate("(given) => set(...given)", [server.address, meaning, {}])
    assert shown["value"] == "right"
    assert server.verify(spec)


def test_a_flag_without_an_experiment_and_one_that_is_not_as_pinned_show_the_default(pages):
    page = pages.page(TARGET)
    ask = "(flag) => client.getStringDetails(flag, 'neither')"
    pages.set(page, "nowhere", "open-flag")
    found = page.evaluate(ask, "nowhere")
    assert (found["value"], found["errorCode"]) == ("neither", "FLAG_NOT_FOUND")
    pages.open(page)
    pages.set(pages.page("b"), "open-flag", privacy=1)
    found = pages.page("b").evaluate(ask, "open-flag")
    assert (found["value"], found["errorCode"]) == ("neither", "GENERAL")
    assert "privacy" in found["errorMessage"]


def test_a_server_that_goes_away_and_comes_back_is_an_event_each(server, pages):
    page = pages.page(TARGET)
    ask = "() => client.getStringDetails('open-flag', 'neither').errorCode ?? null"
    pages.set(page, "open-flag")
    for event in ("PROVIDER_STALE", "PROVIDER_READY"):
        pages.watch(event)
    assert page.evaluate(ask) is None
    page.context.set_offline(True)
    page.wait_for_function(f"() => ({ask})() || client.providerStatus === 'STALE'")
    pages.wait_for("PROVIDER_STALE")
    page.context.set_offline(False)
    page.wait_for_function(f"() => ({ask})() || client.providerStatus === 'READY'")
    pages.wait_for("PROVIDER_READY")


def test_the_context_gives_the_segment_and_may_change(server, pages):
    scheme = Survey(privacy=2.0, segments=("phone", "desktop"))
    server.open(ExperimentSpec(arms=2, name="kinds", scheme=scheme), "open")
    page = pages.page(TARGET)
    ask = "() => client.getStringDetails('kinds', 'none')"
    pages.set(page, "kinds", segment="kind")
    assert page.evaluate(ask)["errorCode"] == "GENERAL"
    page.evaluate("setContext({kind: 'phone'})")
    assert page.evaluate(ask)["reason"] == "SPLIT"
