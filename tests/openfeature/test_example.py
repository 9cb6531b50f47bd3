"""The shop of examples/flags: an app that names no devote runs an experiment to its end."""

import contextlib
import sys
import threading
import time

import httpx
import pytest
import uvicorn
from tests.browser.site import ROOT
from tests.tools import free_port, missing

from devote.boards.board import Experiment
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.protocol import ExperimentSpec
from devote.schemes import Survey

sys.path.insert(0, str(ROOT / "examples/flags"))
import app as example

USERS = 60
DEADLINE = 60.0


@contextlib.contextmanager
def serving(app, port):
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The shop, and the address of its experiment."""
    folder, port = tmp_path_factory.mktemp("shop"), free_port()
    process = ServerProcess(folder, options=["--allow-origin", f"http://127.0.0.1:{port}"])
    process.start()
    try:
        scheme = Survey(privacy=None, reply_after=1.0)
        spec = ExperimentSpec(
            arms=list(example.TEXTS), name="banner", epsilon=0.5, delta=0.25, scheme=scheme
        )
        with Operator(process.address, process.token) as operator:
            url = operator.open(Experiment(spec, "open"))
            with serving(example.make_app(process.address, folder / "devices"), port) as address:
                yield address, url
    finally:
        process.stop()


def banner(client, address):
    return client.get(address).text.partition("<button>")[2].partition("</button>")[0]


def test_users_of_a_backend_find_the_best_banner(shop):
    """Everybody clicks one banner and nobody another.

    It is decided once each of the three has 3 answers; of 60 drawn, one has fewer with probability
    3e-8.
    """
    address, url = shop
    for _ in range(USERS):
        with httpx.Client() as client:
            if banner(client, address) == example.TEXTS["blue"]:
                assert client.post(f"{address}/click").status_code == 303
    until = time.monotonic() + DEADLINE
    while httpx.get(f"{url}/tally").json()["tally"]["status"] != "agreed":
        assert time.monotonic() < until
        time.sleep(0.1)
    with httpx.Client() as client:
        while banner(client, address) != example.TEXTS["blue"]:
            assert time.monotonic() < until
    with HttpLog(url) as log:
        assert verify_log(log).ok


@pytest.mark.browser
def test_the_page_asks_its_own_browser(shop, chromium):
    address, _ = shop
    if not (ROOT / "clients/openfeature-web/node_modules/@openfeature").exists():
        missing("The page of examples/flags needs npm's modules: make client")
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{address}/page")
        page.wait_for_function("() => banner.textContent")
        assert page.inner_text("#banner") in example.TEXTS.values()
