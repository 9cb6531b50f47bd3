"""How many first visitors are asked in time: Chromium with latency added to every request.

``python -m tests.browser.first_visits --visitors 20 --latency 100`` says how many were shown an arm
of the survey, and not the fallback, within the default time.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.browser.site import serving_site
from tests.browser.world import QuickWorld, Visitor, choose, survey
from tests.chromium import FLAGS


def main() -> None:
    """Let visitors come, each with a profile of its own, and count who is asked."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--latency", type=int, default=100, help="milliseconds")
    options = parser.parse_args()
    asked = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_site() as site,
        QuickWorld(site, Path(folder)) as world,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        url = world.open(spec := survey(reply_after=60.0))
        for invite in world.operator.invites(spec.name, options.visitors):
            visitor = Visitor(browser, world)
            page = visitor.visit()
            session = visitor.context.new_cdp_session(page)
            session.send("Network.enable")
            slow = {"latency": options.latency, "downloadThroughput": -1, "uploadThroughput": -1}
            session.send("Network.emulateNetworkConditions", {"offline": False, **slow})
            page.evaluate(
                "([url, invite]) => {"
                " window.device = devote.join(url, {fallback: 'plain', invite}) }",
                [url, invite],
            )
            asked += choose(page)["play"] is not None
            visitor.context.close()
        browser.close()
    print(f"{asked} of {options.visitors} first visitors asked at {options.latency} ms of latency")


if __name__ == "__main__":
    main()
