"""How long a page with a warm store waits for ``choose``, in Chromium.

The store is on disk, and the network is cut while it is measured: nothing waits for it.
``python -m tests.browser.choose_time`` prints it.
"""

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from tests.browser.own_browser import OwnBrowser
from tests.browser.site import CLIENT, serving_site
from tests.browser.world import Visitor, World, survey

ENROL = """async ([server, name, count]) => {
  for (let n = 0; n < count; n++) {
    const device = devote.join(`${server}/${n}/../experiments/${name}`, {fallback: "plain"});
    await device.ready;
    device.close();
  }
}"""

CHOOSE = """async ([server, name, count]) => {
  const found = {"a new question": [], "the open question": [], "once the store is open": []};
  const time = async (what, work) => {
    const start = performance.now(), choice = await work();
    if (choice.play === null) throw new Error("no question");
    found[what].push(performance.now() - start);
  };
  for (let n = 0; n < count; n++) {
    const url = `${server}/${n}/../experiments/${name}`;
    let device;
    const visit = () => (device = devote.join(url, {fallback: "plain", within: 60_000})).choose();
    await time("a new question", visit);
    device.close();
    await time("the open question", visit);
    await time("once the store is open", () => device.choose());
    device.close();
  }
  return found;
}"""


def measure(visitor: Visitor, world: World, count: int) -> dict[str, list[float]]:
    """Milliseconds from the start of ``join`` to the choice, and of ``choose`` alone."""
    spec = survey(reply_after=600.0)
    world.open(spec, "open")
    page = visitor.visit()
    where = [world.address, spec.name, count]
    page.evaluate(ENROL, where)
    visitor.context.set_offline(True)
    return page.evaluate(CHOOSE, where)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_site() as site,
        World(site, Path(folder)) as world,
        sync_playwright() as playwright,
        OwnBrowser(playwright, Path(folder, "profile")) as browser,
    ):
        found = measure(Visitor(None, world, browser.context), world, given.count)
    for what, times in found.items():
        low, middle, high = np.percentile(times, [5, 50, 95])
        print(f"{what:24} {middle:6.1f} ms (5 to 95 %: {low:.1f} to {high:.1f})")
    text = CLIENT.read_bytes()
    print(f"{CLIENT.name}: {len(text):,} bytes, gzipped {len(gzip.compress(text, 9)):,}")


if __name__ == "__main__":
    sys.exit(main())
