"""Visitors whose pages, browsers and server fail at random, and what is on the board in the end.

Visitors in one Chromium open tabs, are asked, click or not, reload, crash, close tabs, have
clocks that are wrong, lose the network or their storage; the server is killed and started again.
Then all comes back, everybody opens the page once more, and

- the board has at most one answer of each invite;
- whatever left for a question is the same message to the last byte: its bit was drawn once;
- every visitor who was asked and whose storage was not cleared has an answer there, about the arm
  that was asked about.

Others have a profile on disk, and their whole browser is killed (SIGKILL) between question and
answer.

``python -m tests.browser.fault_run --visitors 24 --faults 400 --browsers 8`` makes the long run.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright
from tests.browser.faults import Clock, crash
from tests.browser.own_browser import OwnBrowser
from tests.browser.site import serving_site
from tests.browser.world import Visitor, World, choose, click, survey
from tests.chromium import FLAGS

CLEAR = "() => new Promise((done) => indexedDB.deleteDatabase('devote').onsuccess = done)"
OVER = "() => device.status().sent > 0 || device.status().trouble?.code === 'invite'"


class Unlucky(Visitor):
    """A visitor with an invite, to whom things happen; some pages send when they are left."""

    def __init__(
        self, browser: Browser, world: World, url: str, invite: str, leave: str | None
    ) -> None:
        super().__init__(browser, world)
        self.url, self.invite, self.leave = url, invite, leave
        self.pages: list[Page] = []
        self.asked: dict[str, int] = {}
        self.cleared = self.offline = False
        self.tab()

    def tab(self, days: float = 0.0) -> None:
        """Open the page, and be asked if there is something to ask."""
        page = self.visit(Clock(days) if days else lambda page: None)
        self.pages.append(page)
        self._play(page)

    def _play(self, page: Page) -> None:
        page.evaluate(
            "([url, invite, leave]) => { window.device = devote.join(url,"
            " {fallback: 'plain', within: 2000, invite, leave}) }",
            [self.url, self.invite, self.leave],
        )
        choice = choose(page)
        if choice["play"] is not None:
            self.asked[choice["play"]] = choice["arm"]

    def click(self, dice: random.Random) -> None:
        with suppress(Error):  # its storage may be gone
            click(dice.choice(self.pages))

    def reload(self, dice: random.Random) -> None:
        page = dice.choice(self.pages)
        page.reload()
        page.wait_for_function("window.devote")
        self._play(page)

    def crash(self, dice: random.Random) -> None:
        page = self.pages.pop(dice.randrange(len(self.pages)))
        crash(page)
        page.close()

    def close_tab(self, dice: random.Random) -> None:
        self.pages.pop(dice.randrange(len(self.pages))).close()

    def wrong_clock(self, dice: random.Random) -> None:
        self.tab(dice.choice((-400.0, -1.0, 1e-6, 3.0)))

    def two_tabs(self, dice: random.Random) -> None:
        self.tab()

    def network(self, dice: random.Random) -> None:
        self.offline = not self.offline
        self.context.set_offline(self.offline)

    def clear(self, dice: random.Random) -> None:
        dice.choice(self.pages).evaluate(CLEAR)
        self.cleared = True

    def suffer(self, dice: random.Random) -> str:
        """Something happens."""
        kinds = [self.click, self.click, self.reload, self.crash, self.close_tab, self.two_tabs]
        kinds += [self.wrong_clock, self.network]
        if dice.random() < 0.02:
            kinds = [self.clear]
        if self.offline and dice.random() < 0.5:
            kinds = [self.network]
        kind = dice.choice(kinds)
        if not self.pages or (kind == self.two_tabs and len(self.pages) > 2):
            kind = self.reload if self.pages else self.two_tabs
        if self.offline and kind in (self.reload, self.wrong_clock, self.two_tabs):
            kind = self.network  # a page that is not cached cannot be opened offline
        kind(dice)
        return kind.__name__

    def end(self) -> None:
        """All is well again: a last visit, until nothing is due."""
        self.context.set_offline(False)
        page = self.visit()
        page.evaluate(
            "([url, invite]) => { window.device = devote.join(url, {fallback: 'plain', invite}) }",
            [self.url, self.invite],
        )
        choose(page)
        page.wait_for_function(OVER)


@dataclass
class Report:
    """What was done, what left and what the board holds."""

    faults: Counter[str] = field(default_factory=Counter)
    visitors: list[Unlucky] = field(default_factory=list)
    board: Counter[str] = field(default_factory=Counter)
    arms: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        assert set(self.board.values()) <= {1}, "somebody has two answers"
        assert sum(self.board.values()) <= len(self.visitors), "more answers than invites"
        for visitor in self.visitors:
            said = {json.loads(body)["message"]["voter"]: set() for body in visitor.posted}
            for body in visitor.posted:
                said[json.loads(body)["message"]["voter"]].add(body)
            assert all(len(bodies) == 1 for bodies in said.values()), "a bit was drawn twice"
            own = set(said) & set(self.board)
            assert len(own) <= 1, "an invite has two answers"
            if visitor.asked and not visitor.cleared:
                assert len(own) == 1, "an answer was lost"
                assert set(visitor.asked.values()) == {self.arms[voter] for voter in own}


def run(browser: Browser, world: World, *, visitors: int, faults: int, seed: int = 1) -> Report:
    """So many visitors, so many faults among them, and the server killed every now and then."""
    dice, report = random.Random(seed), Report()
    spec = survey(privacy=0.01)  # so that it stays open
    url = world.open(spec)
    for number, invite in enumerate(world.operator.invites(spec.name, visitors)):
        leave = "send" if number % 2 else None
        report.visitors.append(Unlucky(browser, world, url, invite, leave))
    for number in range(faults):
        if number % 50 == 5:
            world.server.kill()
            report.faults["server killed"] += 1
        elif number % 50 == 10:
            world.server.start()
        report.faults[dice.choice(report.visitors).suffer(dice)] += 1
    if 5 <= (faults - 1) % 50 < 10:
        world.server.start()
    for visitor in report.visitors:
        visitor.end()
    for answer in world.answers(spec):
        report.board[answer.voter] += 1
        report.arms[answer.voter] = answer.arm
    assert world.verify(spec)
    report.check()
    for visitor in report.visitors:
        visitor.context.close()
    return report


def kill_browser(playwright: Playwright, world: World, folder: Path, *, clicks: bool) -> None:
    """A browser with a profile on disk is killed after the question, and started again."""
    spec = survey(reply_after=3.0)
    url = world.open(spec)
    (invite,) = world.operator.invites(spec.name, 1)
    posted = []
    with OwnBrowser(playwright, folder) as browser:
        visitor = Visitor(None, world, browser.context)
        page = visitor.join(url, invite)
        first = choose(page)
        if clicks:
            click(page)
        browser.kill()
        posted += visitor.posted
    with OwnBrowser(playwright, folder) as browser:
        visitor = Visitor(None, world, browser.context)
        page = visitor.join(url)
        if not clicks:
            again = choose(page)
            assert again["play"] in (first["play"], None), "asked again"
        page.wait_for_function(OVER)
        posted += visitor.posted
    (answer,) = world.answers(spec)
    assert answer.arm == first["arm"]
    assert len(set(posted)) == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=24)
    parser.add_argument("--faults", type=int, default=400)
    parser.add_argument("--browsers", type=int, default=8, help="killed with all their tabs")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_site() as site,
        World(site, Path(folder)) as world,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        report = run(browser, world, visitors=given.visitors, faults=given.faults, seed=given.seed)
        browser.close()
        for number in range(given.browsers):
            kill_browser(playwright, world, Path(folder, f"p{number}"), clicks=number % 2 == 0)
    happened = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in report.faults.most_common())
    asked = sum(bool(visitor.asked) for visitor in report.visitors)
    cleared = sum(visitor.cleared for visitor in report.visitors)
    answers = sum(report.board.values())
    print(f"{given.visitors} visitors, {asked} asked, {cleared} with storage cleared: {happened}.")
    print(f"{answers} answers on the board: one per invite, each bit drawn once, none lost.")
    print(f"{given.browsers} browsers killed between question and answer: all answers are there.")


if __name__ == "__main__":
    sys.exit(main())
