"""Somebody who looks at the page, and voters who give them something to see."""

from typing import Any

import httpx
from playwright.sync_api import Browser, expect
from tests.server.live import body, identity

from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import Scope
from devote.schemes import Claim, Pick, Vote

expect.set_options(timeout=20_000)


class Voters:
    """An operator, and voters with known keys who enrol before their first message."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self.token = token
        self._client = httpx.Client()
        self._enrolled: set[tuple[str, int]] = set()
        self._scopes: dict[str, Scope] = {}

    def open(self, spec: ExperimentSpec, players: int | None = None) -> None:
        with Operator(self.address, self.token) as operator:
            operator.open(Experiment(spec, "open", players))

    def vote(self, name: str, voter: int, arm: int) -> None:
        self.send(voter, Vote(name, 0, arm, identity(voter).voter))

    def claim(self, name: str, voter: int) -> None:
        self.send(voter, Claim(name, identity(voter).voter))

    def pick(self, name: str, voter: int, arm: int) -> None:
        self.send(voter, Pick(name, arm, identity(voter).voter))

    def send(self, voter: int, message: Message) -> None:
        name, who = message.experiment, identity(voter)
        url = f"{self.address}/experiments/{name}"
        if name not in self._scopes:
            found = self._client.get(url).json()
            self._scopes[name] = Scope(found["board"], found["fingerprint"])
        scope = self._scopes[name]
        if (name, voter) not in self._enrolled:
            request = {"voter": who.voter, "signature": who.sign_enrolment(scope)}
            assert self._client.post(f"{url}/enrolments", json=request).is_success
            self._enrolled.add((name, voter))
        posted = self._client.post(f"{url}/messages", json=body(who.sign(message, scope)))
        assert posted.is_success

    def close(self) -> None:
        self._client.close()


class Onlooker:
    """One page in a context of its own, with what it logged and asked for."""

    def __init__(
        self, browser: Browser, address: str, fragment: str = "", width: int = 1180, **options: Any
    ) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 844}, **options)
        self.page = self.context.new_page()
        self.address = address
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{address}/{fragment}")
        self.page.evaluate("window.loadedOnce = true")

    def sees(self, selector: str, text: Any) -> None:
        expect(self.page.locator(selector)).to_have_text(text)

    def sees_classes(self, selector: str, classes: list[str]) -> None:
        expect(self.page.locator(selector)).to_have_class(classes)

    @property
    def reloaded(self) -> bool:
        return self.page.evaluate("window.loadedOnce !== true")

    def overflow(self) -> int:
        """Pixels by which the document is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def forgive(self, beginning: str) -> None:
        """Leave out what the browser itself logs of a request that fails."""
        self.errors = [text for text in self.errors if not text.startswith(beginning)]

    def leave(self) -> None:
        self.context.close()
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith(f"{self.address}/")] == []
