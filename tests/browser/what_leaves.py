"""What leaves a browser, and when: many devices of two kinds, assigned by lot.

The kinds are with a click and without; or two segments, of which one is decided, with clicks alike.

Devices share a page, and have a record each, because the store goes by the address as it is
written: ``SERVER/7/../experiments/x`` is ``SERVER/experiments/x`` on the wire. Every call of
``fetch`` is noted with its moment; clicks come at any time while the question is open. Then

- every device must have made the same requests in the same order, of the same sizes, but for the
  digits of ``seen``, which is fixed with the question, and of a segmented answer;
- the moments, since the choice and since the moment that was drawn for the answer, must have the
  same distribution for both kinds (Kolmogorov-Smirnov).

Kinds are assigned by lot, so without a leak they are exchangeable, whatever else the machine
does; a click that came too late on a busy machine stays with the clicks. False alarm: 1e-6 in all.
Power with 500 of each: a D of .32 is found with probability .96 (by the inequality of Dvoretzky,
Kiefer and Wolfowitz, .184 being significant); with 14 of each, a D of 1.

``python -m tests.browser.what_leaves --runs 500`` makes the long run.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy
from playwright.sync_api import Browser, sync_playwright
from tests.browser.site import serving_site
from tests.browser.world import Visitor, World, survey
from tests.chromium import FLAGS
from tests.schemes.segments import segmented_spec

FALSE_ALARM = 1e-6
REPLY_AFTER = 1.0
EVERY = 0.2
"""Seconds from one device's start to the next one's, so that few are at work at a time."""

NOTE = """() => {
  const plain = window.fetch;
  window.noted = [];
  window.fetch = (url, options = {}) => {
    const size = (options.body ?? "").replace(/"(seen|low|high)":\\d+/g, "").length;
    noted.push([performance.now(), options.method ?? "GET", url, size]);
    return plain(url, options);
  };
}"""

PLAY = """async ([server, name, every, clicks, segments]) => {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  return Promise.all(clicks.map(async (click, n) => {
    await pause(1000 * every * n);
    const url = `${server}/${n}/../experiments/${name}`;
    const device = devote.join(url, {fallback: "plain", within: 60_000});
    await device.ready;
    const choice = await device.choose(segments ? { segment: segments[n] } : {});
    const asked = performance.now();
    const planned = asked + 1000 * device.status().replyIn;
    if (click !== null) {
      await pause(click);
      await device.reward(1, choice);
    }
    while (device.status().sent === 0) await pause(20);
    device.close();
    const own = noted.filter(([, , at]) => at.startsWith(url));
    return own.map(([when, method, at, size]) =>
      ({ method, path: at.slice(url.length), size, asked: when - asked, planned: when - planned }));
  }));
}"""

HEADERS = re.compile(r"cookie|authorization|referer|if-none-match|if-modified-since|etag")
ALLOWED = {
    ("POST", "/join"): {"v", "voter", "signature"},
    ("GET", "/tally"): None,
    ("GET", "/messages"): None,
    ("POST", "/messages"): {"message", "signature"},
}
ANSWER = {"v", "type", "experiment", "voter", "arm", "number", "seen"}
CONTENTS = ({"bit"}, {"low", "high"})
KINDS = {"click": ("a click", "no click"), "segment": ("a decided segment", "an open one")}


@dataclass
class Leaves:
    """What left, of devices with a click and of devices without one."""

    runs: dict[bool, list[list[dict[str, Any]]]] = field(
        default_factory=lambda: {True: [], False: []}
    )

    def check(self) -> list[tuple[str, float, float]]:
        """The same requests, at moments of the same distribution; gives all D and p."""
        shapes = Counter(
            tuple((each["method"], re.sub(r"=\w+", "", each["path"]), each["size"]) for each in run)
            for runs in self.runs.values()
            for run in runs
        )
        assert len(shapes) == 1, shapes
        (shape,) = shapes
        found = []
        for number, (method, path, _) in enumerate(shape):
            for since in ("asked", "planned"):
                one, other = (
                    np.array([run[number][since] for run in self.runs[kind]])
                    for kind in (True, False)
                )
                test = scipy.stats.ks_2samp(one, other)
                found.append((f"{method} {path} since {since}", test.statistic, test.pvalue))
        worst = min(p for _, _, p in found)
        assert worst > FALSE_ALARM / len(found), sorted(found, key=lambda each: each[2])[:2]
        return found

    def residuals(self, kind: bool) -> np.ndarray:
        """Milliseconds from the moment that was drawn to the request with the answer."""
        return np.array([run[-1]["planned"] for run in self.runs[kind]])


def check_wire(visitor: Visitor, url: str) -> None:
    """Only what a device may say has left the browser, and nothing by which it could be known."""
    for request in visitor.requests:
        assert request.url.startswith(url)
        path, _, query = request.url.removeprefix(url).partition("?")
        fields = ALLOWED[request.method, path]
        assert re.fullmatch(
            r"voter=[0-9a-f]{64}" if request.method == "GET" and path == "/messages" else "", query
        )
        assert not any(HEADERS.fullmatch(name) for name in request.all_headers())
        if fields is None:
            assert request.post_data is None
        else:
            body = json.loads(request.post_data)
            assert set(body) == fields
            if "message" in body:
                assert set(body["message"]) - ANSWER in CONTENTS
                assert set(body["message"]) > ANSWER


def measure(
    browser: Browser,
    world: World,
    runs: int,
    seed: int = 1,
    by: Literal["click", "segment"] = "click",
) -> Leaves:
    """So many devices of each kind, one after the other in one page."""
    dice, leaves = random.Random(seed), Leaves()
    clicks = [dice.uniform(0, 900 * REPLY_AFTER) for _ in range(runs)] + [None] * runs
    dice.shuffle(clicks)
    if by == "click":
        spec = survey(reply_after=REPLY_AFTER, privacy=0.01)  # so that it stays open
        url, segments = world.open(spec, "open"), None
        kinds = [click is not None for click in clicks]
    else:
        spec = segmented_spec(name=f"kinds-{seed}", reply_after=REPLY_AFTER, epsilon=0.02)
        url = world.open_decided(spec, 0)
        kinds = [True] * runs + [False] * runs
        dice.shuffle(kinds)
        segments = [spec.scheme.segments[0 if is_decided else 1] for is_decided in kinds]
    before = len(world.answers(spec))
    visitor = Visitor(browser, world)
    page = visitor.visit()
    page.evaluate(NOTE)
    found = page.evaluate(PLAY, [world.address, spec.name, EVERY, clicks, segments])
    for kind, run in zip(kinds, found, strict=True):
        leaves.runs[kind].append(run)
    check_wire(visitor, url)
    visitor.context.close()
    assert len(world.answers(spec)) == before + 2 * runs
    return leaves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="of each kind")
    parser.add_argument("--by", choices=KINDS, default="click", help="what tells the kinds apart")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_site() as site,
        World(site, Path(folder)) as world,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        leaves = measure(browser, world, given.runs, by=given.by)
        browser.close()
    for kind, runs in leaves.runs.items():
        middle = np.percentile(leaves.residuals(kind), [5, 50, 95]).round(1)
        name = KINDS[given.by][not kind]
        print(
            f"{name}: {len(runs)} devices; answers left {middle} ms (5, 50, 95 %) after it was due"
        )
    for what, distance, p in leaves.check():
        print(f"  {what:32} D = {distance:.3f}, p = {p:.3g}")
    print("The same requests, at the same times.")


if __name__ == "__main__":
    sys.exit(main())
