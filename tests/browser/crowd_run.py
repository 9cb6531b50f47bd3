"""Browsers and Python devices in one survey with segments, on the shop of ``examples/banner``.

Each browser is a context of one Chromium, with a cookie jar and a store of its own, every other one
a phone. It opens the shop, is shown a banner, and clicks it or not by the same hidden rates as the
Python devices beside it. The survey must find the best banner of each kind, with every browser's
answer on the board, and phones and desktops must have asked for the same things.

``python -m tests.browser.crowd_run --browsers 40 --devices 3000 --pictures FOLDER`` makes the
long run."""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.site import ROOT
from tests.chromium import FLAGS

from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import CrowdProcess, Task
from devote.protocol import ExperimentSpec

sys.path.insert(0, str(ROOT / "examples/banner"))
import run as example

SPEC = example.SPEC.with_(
    epsilon=0.1, scheme=replace(example.SPEC.scheme, privacy=2.0, reply_after=3.0, subset=None)
)
ASKED = "a question: click it or not"
SENT = "sent: one blurred answer, and never again"
KINDS = {
    "phone": {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}},
    "desktop": {},
}


@dataclass(frozen=True)
class Report:
    """How the survey ended."""

    status: str
    answers: dict[str, str]
    messages: int
    browsers_sent: int
    browsers_on_board: int
    devices_done: int
    is_verified: bool
    seconds: float
    asked_for: dict[str, set[tuple[str, str]]] = field(repr=False)

    def check(
        self, browsers: int, devices: int, rates: Mapping[str, Sequence[float]] = example.CLICKS
    ) -> None:
        """Verified, with everybody's answer, and the best banner of each kind."""
        assert self.is_verified
        assert self.browsers_sent == self.browsers_on_board == browsers
        assert self.devices_done == devices
        best = {kind: example.BANNERS[row.index(max(row))] for kind, row in rates.items()}
        assert (self.status, self.answers) == ("agreed", best)
        assert self.asked_for["phone"] == self.asked_for["desktop"]


def visit(page: Page, address: str) -> str:
    """Come, and come back until asked: on a busy machine the first join may take too long."""
    for _ in range(20):
        page.goto(address)
        name = page.wait_for_selector("#banner[data-arm]").get_attribute("data-arm")
        if page.inner_text("#what") == ASKED:
            return name
        page.wait_for_timeout(500)
    raise AssertionError(page.inner_text("#status"))


def run(
    browser: Browser,
    folder: Path,
    *,
    browsers: int,
    devices: int,
    processes: int = 2,
    spec: ExperimentSpec = SPEC,
    rates: Mapping[str, Sequence[float]] = example.CLICKS,
    looked: Callable[[str, str], None] = lambda shop, watch: None,
) -> Report:
    """Browsers first, then the crowd, until all have come and gone; ``looked`` is called twice."""
    dice, started = random.Random(1), time.monotonic()
    with ExitStack() as stack:
        shop = example.start(stack, folder, spec=spec)
        url, watch = shop.words[b"EXPERIMENT"].decode(), shop.words[b"WATCH"].decode()
        operator = stack.enter_context(Operator(url.partition("/experiments")[0]))
        pages, voters, asked_for = [], set(), {kind: set() for kind in KINDS}

        def note(request, kind: str) -> None:
            asked_for[kind].add((request.method, re.sub(r"voter=\w+", "", request.url)))
            if request.method == "POST" and request.url == f"{url}/messages":
                voters.add(request.post_data_json["message"]["voter"])

        for n in range(browsers):
            kind = list(KINDS)[n % len(KINDS)]
            context = browser.new_context(**KINDS[kind])
            context.on("request", partial(note, kind=kind))
            page = context.new_page()
            name = visit(page, shop.origin)
            is_first = n < len(KINDS)  # so that some of each kind click
            if is_first or dice.random() < rates[kind][spec.arm_names.index(name)]:
                page.click("#banner")
                page.wait_for_url("**/offer")
                page.go_back()
            pages.append(page)
        crowds = []
        for first in range(processes):
            own = {n: shop.invites.of(f"{n}") for n in range(first, devices, processes)}
            task = Task(url, folder, (), own, 1, 1, spec.scheme.sending.reply_after, rates)
            crowds.append(CrowdProcess(task))
            stack.callback(crowds[-1].kill)
            crowds[-1].start()
        for page in pages:
            page.get_by_text(SENT).wait_for(timeout=120_000)
        while sum(crowd.pulls for crowd in crowds) < devices / 6:
            time.sleep(0.2)
        looked(shop.origin, watch)
        while any(crowd.running for crowd in crowds):
            time.sleep(0.2)
        assert not any(crowd.failed for crowd in crowds), crowds[0].errors
        with HttpLog(url) as log:
            report = verify_log(log)
        messages = [message for _, message in operator.messages(spec.name, spec.n_arms)]
        on_board, tally = {message.voter for message in messages}, spec.scheme.tally(spec)
        for message in messages:
            tally.add(message)
        rows = zip(spec.scheme.segments, tally.public()["segments"], strict=True)
        looked(shop.origin, watch)
        for page in pages:
            page.context.close()
    return Report(
        report.status,
        {kind: spec.arm_names[row["leader"]] for kind, row in rows if row["status"] == "agreed"},
        report.number,
        len(voters),
        len(voters & on_board),
        sum(crowd.pulls for crowd in crowds),
        report.ok,
        time.monotonic() - started,
        asked_for,
    )


class Pictures:
    """The shop and the experiment's page, wide and narrow, midway and at the end."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self._moments = iter(("midway", "end"))

    def __call__(self, shop: str, watch: str) -> None:
        moment = next(self._moments)
        for name, address in (("shop", shop), ("experiment", watch)):
            for width in (1180, 390):
                context = self._browser.new_context(viewport={"width": width, "height": 844})
                page = context.new_page()
                page.goto(address)
                page.wait_for_selector("#banner[data-arm], #arms li")
                page.wait_for_timeout(1500)
                page.screenshot(path=self._folder / f"{name}-{moment}-{width}.png", full_page=True)
                context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browsers", type=int, default=40)
    parser.add_argument("--devices", type=int, default=3000)
    parser.add_argument("--pictures", type=Path, help="a folder for screenshots")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        more = {"looked": Pictures(browser, given.pictures)} if given.pictures else {}
        report = run(browser, Path(folder), browsers=given.browsers, devices=given.devices, **more)
        browser.close()
    print(f"{given.browsers} browsers and {given.devices:,} Python devices: {report}")
    report.check(given.browsers, given.devices)
    print("The best banner of each kind, with every browser's answer on the board; verified.")


if __name__ == "__main__":
    sys.exit(main())
