"""A real server for Chromium to look at."""

import pytest
from tests.page.applause import Applause, register
from tests.page.watching import Onlooker, Voters
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.page.page import add_page
from devote.protocol import messages
from devote.protocol.scheme import SCHEMES
from devote.server import Settings, create_app


@pytest.fixture
def applause():
    """A scheme that only a test knows; forgotten at the end."""
    registries = (SCHEMES, messages.KINDS, messages._BY_FORM)
    before = [dict(registry) for registry in registries]
    register()
    yield Applause
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.fixture
def server(tmp_path):
    """A server with its page in this process, and those who vote there."""
    with open_store(tmp_path / "server.db") as store:
        app = create_app(store, Settings(token=TOKEN))
        add_page(app)
        with serving_in_thread(app) as address:
            voters = Voters(address, TOKEN)
            yield voters
            voters.close()


@pytest.fixture
def onlooker(chromium, server):
    """Opens the page; at the end, it has logged no error and asked no other host for anything."""
    opened = []

    def open_page(fragment="", address=server.address, **options):
        opened.append(Onlooker(chromium, address, fragment, **options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.leave()
