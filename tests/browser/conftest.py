"""Headless Chromium, a site with the client, and a server that takes its visitors."""

import subprocess

import pytest
from tests.browser.site import serving_site
from tests.browser.world import QuickWorld, Visitor
from tests.tools import needed


@pytest.fixture(scope="module")
def node():
    """Runs Node with some words; gives how it ended and what it printed."""
    path = needed("node")

    def run(*words: object) -> tuple[int, str]:
        ran = subprocess.run(
            [path, *map(str, words)], capture_output=True, text=True, timeout=120, check=False
        )
        return ran.returncode, ran.stdout + ran.stderr

    return run


@pytest.fixture(scope="module")
def site():
    with serving_site() as site:
        yield site


@pytest.fixture(scope="module")
def shared(chromium, world):
    """One context of Chromium: tests have experiments of their own, so they share nothing there."""
    visitor = Visitor(chromium, world)
    yield visitor
    visitor.context.close()


@pytest.fixture
def visitor(shared):
    """The same, with no tab open and nothing noted yet."""
    shared.requests.clear()
    yield shared
    shared.context.set_offline(False)
    for page in shared.context.pages:
        page.close()


@pytest.fixture(scope="module")
def world(site, tmp_path_factory):
    """A server that allows the site, and its operator; see ``QuickWorld``."""
    with QuickWorld(site, tmp_path_factory.mktemp("server")) as world:
        yield world
