"""Headless Chromium, one for all tests in a row that are marked ``browser``: it starts in a second.

While Playwright runs, no other test of the process can use ``asyncio.run``. So ``end`` is called
before each test that is not marked; see ``tests/conftest.py``.
"""

from contextlib import ExitStack

from playwright.sync_api import Browser, sync_playwright
from tests.tools import needed

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

INSECURE = "--host-resolver-rules=MAP shop.test 127.0.0.1"
"""A name of this machine that browsers do not trust as they trust 127.0.0.1."""

_running: list[tuple[Browser, ExitStack]] = []


def start() -> Browser:
    """Chromium as it runs, or a new one."""
    if not _running:
        path = needed("chromium")
        stack = ExitStack()
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, INSECURE])
        stack.callback(browser.close)
        _running.append((browser, stack))
    return _running[0][0]


def end() -> None:
    """End it, if it runs."""
    while _running:
        _running.pop()[1].close()
