"""Visitors whose click leads to another page, before their answers are due.

In Chromium, each with a context of its own, and beside them light devices, which only enrol, draw
an arm as the tally asks, and post one answer. The options pay .59 and .39. Nine of ten clickers of
the better option follow its link; all others stay until their answer has left.

- With ``resume()`` on the page that they reach, every answer arrives and the better option wins
  (but with probability ``delta``, .05).
- Without it those answers are missing. The board must say so before it announces an answer: of
  300 surveys like this one, folded in memory, 287 were flagged first (``--power 300``).

``python -m tests.browser.leaving_run --visitors 300 --devices 3000`` makes the long run.
"""

import argparse
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.site import serving_site
from tests.browser.world import Visitor, World
from tests.chromium import FLAGS

from devote.boards.identity import Identity
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Scope, to_dict
from devote.rules.randomizer import blur_reward
from devote.schemes import Survey
from devote.schemes.survey.tally import Answer

RATES = (0.59, 0.39)
LEAVING = 0.9
TOGETHER = 10
"""So many pages are open at once."""

SHOP = b"""<!doctype html><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">
<a id="banner" href="NEXT"></a>
<script type="module">
  import { join } from "/clients/js/dist/devote.js";
  const url = new URLSearchParams(location.search).get("url");
  window.device = join(url, { fallback: "plain", within: 60_000 });
  window.choice = await device.choose();
  const { banner } = window;
  banner.textContent = choice.name;
  banner.onclick = async (event) => {
    event.preventDefault();
    await device.reward(1, choice);
    if (banner.dataset.leads) location.href = banner.href;
  };
</script>"""
NEXT = b"""<!doctype html><meta charset="utf-8"><title>Offer</title><link rel="icon" href="data:,">
<script type="module">
  import { resume } from "/clients/js/dist/devote.js";
  [window.device] = await resume();
</script>"""
OVER = "window.device && (device.status().sent > 0 || device.status().state === 'agreed')"
GONE = b"<!doctype html><title>The offer</title><link rel='icon' href='data:,'>"


@dataclass(frozen=True)
class Report:
    """How far a survey came; ``decided`` and ``flagged`` are numbers of answers, if it was."""

    answers: int
    expected: int
    answer: tuple[int, ...]
    decided: int | None
    flagged: int | None

    @property
    def is_flagged_first(self) -> bool:
        """Whether the mismatch was on the board before there was an answer."""
        return self.flagged is not None and (self.decided is None or self.flagged < self.decided)


def survey(name: str, reply_after: float = 1.0) -> ExperimentSpec:
    scheme = Survey(privacy=0.5, reply_after=reply_after)
    return ExperimentSpec(arms=2, name=name, epsilon=0.1, delta=0.05, scheme=scheme)


def leads_away(dice: random.Random, arm: int) -> tuple[bool, bool]:
    """Whether a visitor clicks, and whether the click leads away."""
    clicks = dice.random() < RATES[arm]
    return clicks, clicks and arm == 0 and dice.random() < LEAVING


def visit(browser: Browser, world: World, url: str, dice: random.Random) -> tuple[Page, bool]:
    """A visitor comes, and clicks or does not; whether it has left."""
    page = Visitor(browser, world).context.new_page()
    page.goto(f"{world.site.origin}/shop.html?url={quote(url, safe='')}")
    page.wait_for_function("window.choice")
    arm = page.evaluate("choice.play === null ? null : choice.arm")
    if arm is None:  # the survey is decided
        return page, True
    clicks, leaves = leads_away(dice, arm)
    if leaves:
        page.evaluate("document.getElementById('banner').dataset.leads = 'yes'")
        with page.expect_navigation():
            page.click("#banner")
    elif clicks:
        page.click("#banner")
    return page, leaves


def post_lightly(server: httpx.Client, url: str, spec: ExperimentSpec, dice: random.Random) -> bool:
    """One light device; whether the board has its answer: not if it was lost, or came too late."""
    voter = Identity.generate()
    joining = {"v": 2, "voter": voter.voter, "signature": voter.sign_join(spec.name)}
    joined = server.post(f"{url}/join", json=joining).json()
    tally, scope = joined["tally"]["tally"], Scope(joined["board"], spec.fingerprint)
    arm = dice.choice(tally["asked"])
    clicks, leaves = leads_away(dice, arm)
    scheme = spec.scheme
    assert isinstance(scheme, Survey)
    bit = blur_reward(float(clicks), dice.random(), scheme.truths)
    answer = voter.sign(Answer(spec.name, arm, bit, 1, tally["snapshot"], voter.voter), scope)
    body = {"message": to_dict(answer.message), "signature": answer.signature}
    if tally["status"] != "open" or (leaves and spec.name == "gone"):
        return False
    return server.post(f"{url}/messages", json=body).is_success


def run(
    browser: Browser, world: World, *, resumes: bool, visitors: int, devices: int, seed: int = 1
) -> Report:
    """One survey, with ``resume()`` on the page that a click leads to or without."""
    dice = random.Random(seed)
    spec = survey("resumed" if resumes else "gone")
    url = world.open(spec, "open")
    world.site.changed |= {
        "shop.html": SHOP.replace(b"NEXT", b"next.html" if resumes else b"gone.html"),
        "next.html": NEXT,
        "gone.html": GONE,
    }
    expected = 0
    for start in range(0, visitors, TOGETHER):
        count = min(TOGETHER, visitors - start)
        pages = [visit(browser, world, url, dice) for _ in range(count)]
        for page, has_left in pages:
            if resumes or not has_left:
                page.wait_for_function(OVER)
                expected += page.evaluate("device.status().sent")
            page.context.close()
    with ThreadPoolExecutor(2) as pool, httpx.Client(timeout=60.0) as server:
        seeds = [random.Random(dice.random()) for _ in range(devices)]
        expected += sum(pool.map(lambda own: post_lightly(server, url, spec, own), seeds))
    assert world.verify(spec)
    return fold(spec, world.answers(spec), expected)


def fold(spec: ExperimentSpec, answers: list[Answer], expected: int) -> Report:
    """The same as the board saw it: when it had an answer, and when it flagged a mismatch."""
    tally = spec.scheme.tally(spec)
    decided = flagged = None
    for number, answer in enumerate(answers, 1):
        tally.add(answer)
        public = tally.public()
        if decided is None and public["status"] != "open":
            decided = number
        if flagged is None and tally.mismatch:
            flagged = number
    return Report(len(answers), expected, tuple(tally.answer), decided, flagged)


def power(runs: int) -> int:
    """In how many surveys of this kind without ``resume()`` the mismatch is flagged first."""
    return sum(_simulated(random.Random(seed)).is_flagged_first for seed in range(runs))


def _simulated(dice: random.Random) -> Report:
    spec = survey("gone")
    scheme = spec.scheme
    assert isinstance(scheme, Survey)
    tally, answers = scheme.tally(spec), 0
    while True:
        public = tally.public()
        decided = answers if public["status"] != "open" else None
        flagged = answers if tally.mismatch else None
        if decided is not None or flagged is not None:
            return Report(answers, answers, tuple(tally.answer), decided, flagged)
        arm = dice.choice(public["asked"])
        clicks, leaves = leads_away(dice, arm)
        if not leaves:
            answers += 1
            bit = blur_reward(float(clicks), dice.random(), scheme.truths)
            tally.add(Answer(spec.name, arm, bit, 1, public["snapshot"], f"{answers}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=300)
    parser.add_argument("--devices", type=int, default=3000)
    parser.add_argument("--power", type=int, help="only fold so many surveys without resume()")
    given = parser.parse_args()
    if given.power:
        print(f"flagged before an answer: {power(given.power)} of {given.power}")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_site() as site,
        World(site, Path(folder)) as world,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        how = {"visitors": given.visitors, "devices": given.devices}
        resumed = run(browser, world, resumes=True, **how)
        print(f"with resume(): {resumed}", flush=True)
        gone = run(browser, world, resumes=False, **how)
        print(f"without:       {gone}", flush=True)
        browser.close()
    assert resumed.answers == resumed.expected
    assert resumed.answer == (0,)
    assert resumed.flagged is None
    assert gone.answers == gone.expected
    assert gone.is_flagged_first


if __name__ == "__main__":
    sys.exit(main())
