"""A server process that allows a site's pages, its operator, and visitors in a browser."""

import asyncio
import itertools
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Request
from tests.browser.site import Site
from tests.schemes.segments import deciding
from tests.server.live import TOKEN, run_and_cut

from devote.boards.board import Experiment, Outcome
from devote.boards.http import HttpBoard
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.store import SqliteStore
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.protocol import ExperimentSpec
from devote.schemes import Survey
from devote.schemes.survey.tally import Answer
from devote.server import Settings, create_app
from devote.server.serve import make_server

ARMS = ("spring", "summer", "autumn")

JOIN = """async ([url, invite, options]) => {
  window.device?.close();
  window.device = devote.join(url, {fallback: "plain", within: 30_000, invite, ...options});
  await device.ready;
}"""


_numbers = itertools.count(1)


def survey(name: str | None = None, *, reply_after: float = 1.0, **how: Any) -> ExperimentSpec:
    """A survey, by default of a name that no other has."""
    name = name or f"banner-{next(_numbers)}"
    scheme = Survey(how.pop("privacy", 2.0), how.pop("answers", 1), reply_after)
    return ExperimentSpec(arms=ARMS, name=name, epsilon=0.2, scheme=scheme, **how)


class World(AbstractContextManager["World"]):
    """A server process, started again at will, and what is on its boards."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.server = self._make(folder)
        self.server.start()
        self.address = self.server.address
        self.operator = Operator(self.address, self.server.token)

    def _make(self, folder: Path) -> "ServerProcess | ThreadServer":
        return ServerProcess(folder, options=["--allow-origin", self.site.origin])

    def open(self, spec: ExperimentSpec, enrolment: str = "invite") -> str:
        return self.operator.open(Experiment(spec, enrolment))

    def open_decided(self, spec: ExperimentSpec, *segments: int) -> str:
        """Open a survey with segments, some of which others have decided already."""
        url = self.open(spec, "open")

        async def post() -> None:
            async with HttpBoard(url) as board:
                where = (await board.tally()).scope
                for voter, answer in deciding(spec, *segments):
                    await board.enrol(voter)
                    assert await board.publish(voter.sign(answer, where)) is Outcome.ACCEPTED

        # Beside the event loop that Playwright has in this thread.
        thread = threading.Thread(target=lambda: asyncio.run(post()))
        thread.start()
        thread.join()
        return url

    def answers(self, spec: ExperimentSpec) -> list[Answer]:
        return [message for _, message in self.operator.messages(spec.name, spec.n_arms)]

    def verify(self, spec: ExperimentSpec) -> bool:
        with HttpLog(f"{self.address}/experiments/{spec.name}") as log:
            return verify_log(log).ok

    def __exit__(self, *_: object) -> None:
        self.operator.close()
        self.server.stop()


class ThreadServer:
    """A server in a thread of this process, which can be stopped and started on its port."""

    token = TOKEN

    def __init__(self, folder: Path, origin: str) -> None:
        self._folder, self._origin = folder, origin
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._store = SqliteStore(self._folder / "server.db")
        app = create_app(self._store, Settings(token=TOKEN, origins=(self._origin,)))
        self._server = make_server(app, port=self._port)
        self._thread = threading.Thread(target=run_and_cut, args=[self._server])
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._store.close()

    kill = stop


class QuickWorld(World):
    """The same with the server in this process: quick to start, but stopped where it is killed."""

    def _make(self, folder: Path) -> ThreadServer:
        return ThreadServer(folder, self.site.origin)


class Visitor:
    """A browser's context on the site, with all that leaves it for the server."""

    def __init__(
        self, browser: Browser | None, world: World, context: BrowserContext | None = None
    ) -> None:
        assert browser or context
        self.world = world
        self.context = context or browser.new_context()
        self.context.set_default_timeout(60_000)
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
    page.wait_for_function("(n) => device.status().sent >= n", arg=count)
