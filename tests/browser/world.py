"""A server process that allows a site's pages, its operator, and visitors in a browser."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Request
from tests.browser.site import Site
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.boards.experiment import Experiment
from devote.boards.http_log import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.protocol import ExperimentSpec
from devote.schemes import Survey
from devote.schemes.survey.messages import Answer
from devote.server import Settings, create_app
from devote.server.origins import allow_origins

ARMS = ("spring", "summer", "autumn")

JOIN = """async ([url, invite, options]) => {
  window.device = devote.join(url, {fallback: "plain", within: 5000, invite, ...options});
  await device.ready;
}"""


_numbers = itertools.count(1)


def survey(name: str | None = None, *, reply_after: float = 0.6, **how: Any) -> ExperimentSpec:
    """A survey, by default of a name that no other has."""
    name = name or f"banner-{next(_numbers)}"
    scheme = Survey(how.pop("privacy", 2.0), how.pop("answers", 1), reply_after)
    return ExperimentSpec(
        arms=ARMS, name=name, algorithm="mixture_elimination", epsilon=0.2, scheme=scheme, **how
    )


class World(AbstractContextManager["World"]):
    """A server process, started again at will, and what is on its boards."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.server = ServerProcess(folder, options=["--allow-origin", site.origin])
        self.server.start()
        self._opened = ExitStack()
        self._opened.callback(self.server.stop)
        self._connect(self.server.address, self.server.token)

    def _connect(self, address: str, token: str) -> None:
        self.address = address
        self.operator = self._opened.enter_context(Operator(address, token))

    def open(self, spec: ExperimentSpec, enrolment: str = "invite") -> str:
        return self.operator.open(Experiment(spec, enrolment))

    def answers(self, spec: ExperimentSpec) -> list[Answer]:
        return [message for _, message in self.operator.messages(spec.name, spec.n_arms)]

    def verify(self, spec: ExperimentSpec) -> bool:
        with HttpLog(f"{self.address}/experiments/{spec.name}") as log:
            return verify_log(log).ok

    def __exit__(self, *_: object) -> None:
        self._opened.close()


class QuickWorld(World):
    """The same with the server in this process, which cannot be killed."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self._opened = ExitStack()
        store = self._opened.enter_context(open_store(folder / "server.db"))
        app = create_app(store, Settings(token=TOKEN))
        allow_origins(app, [site.origin])
        self._connect(self._opened.enter_context(serving_in_thread(app)), TOKEN)


class Visitor:
    """A browser's context on the site, with all that leaves it for the server."""

    def __init__(
        self, browser: Browser | None, world: World, context: BrowserContext | None = None
    ) -> None:
        assert browser or context
        self.world = world
        self.context = context or browser.new_context()
        self.requests: list[Request] = []
        self.context.on("request", self._note)

    def _note(self, request: Request) -> None:
        if request.url.startswith(self.world.address):
            self.requests.append(request)

    def visit(self, before: Callable[[Page], object] = lambda page: None) -> Page:
        """Open the page in a new tab; the client is loaded, nothing is joined."""
        page = self.context.new_page()
        before(page)
        page.goto(self.world.site.origin)
        page.wait_for_function("window.devote")
        return page

    def join(self, url: str, invite: str | None = None, page: Page | None = None, **options: Any):
        """Join on a page, a new one unless given; the device is ``device`` there."""
        page = page or self.visit()
        page.evaluate(JOIN, [url, invite, options])
        return page

    @property
    def posted(self) -> list[str]:
        """The bodies of answers that left."""
        ends = ("/messages",)
        return [r.post_data for r in self.requests if r.method == "POST" and r.url.endswith(ends)]


def choose(page: Page) -> dict[str, Any]:
    return page.evaluate("async () => window.choice = await device.choose()")


def click(page: Page, reward: float = 1.0) -> str:
    return page.evaluate("async (x) => await device.reward(x, choice)", reward)


def status(page: Page) -> dict[str, Any]:
    return page.evaluate(
        "() => ({...device.status(), trouble: device.status().trouble?.code ?? null})"
    )


def wait_sent(page: Page, count: int = 1) -> None:
    page.wait_for_function("(n) => device.status().sent >= n", arg=count, timeout=20_000)
