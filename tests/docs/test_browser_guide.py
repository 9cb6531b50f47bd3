"""docs/browser.md leads to a running survey: its blocks are run, and its page is opened."""

import re
import shutil
import socket
import subprocess
import sys

import pytest
from playwright.sync_api import Error
from tests.browser.site import CLIENT, ROOT
from tests.docs.walk import blocks_of, environment, run

from devote.demo.processes import ServerProcess

PAGE = (ROOT / "docs/browser.md").read_text()
ERRORS = (ROOT / "clients/js/src/errors.ts").read_text()


@pytest.mark.browser
@pytest.mark.usefixtures("forked_programs")
def test_every_block_of_the_page_runs_and_a_visitor_answers(chromium, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        shop = f"127.0.0.1:{free.getsockname()[1]}"
    server = ServerProcess(tmp_path, options=["--allow-origin", f"http://{shop}"])
    server.start()
    (tmp_path / "devote-server.db.token").write_text(server.token)
    shutil.copy(CLIENT, tmp_path)
    changes = {
        "http://127.0.0.1:8600": server.address,
        '"127.0.0.1", 8000': f'"127.0.0.1", {shop.partition(":")[2]}',
        "reply_after = 60.0": "reply_after = 1.0",  # which is all that is done to the blocks
    }
    checks, env = [], environment("browser.md", tmp_path)
    for mark, language, text in blocks_of("browser.md"):
        for before, after in changes.items():
            text = text.replace(before, after)
        if mark:
            (tmp_path / mark.removeprefix("file: ")).write_text(text)
        elif language == "sh" and "verify" in text:
            checks.append(text)
        elif language == "sh":
            run(language, text, tmp_path, env)
    backend = subprocess.Popen(
        [sys.executable, "shop.py"], cwd=tmp_path, env=env, stderr=subprocess.DEVNULL
    )
    try:
        with chromium.new_context() as context:
            page = context.new_page()
            while not _is_asked(page, f"http://{shop}/"):  # starting, or not asked in time
                assert backend.poll() is None
                page.wait_for_timeout(200)
            assert page.inner_text("#banner") in ("spring", "summer", "autumn")
            page.click("#banner")
            page.wait_for_function("() => device.status().sent === 1")
        (check,) = checks
        assert "All is well." in run("sh", check, tmp_path, env)
    finally:
        backend.terminate()
        backend.wait()
        server.stop()


def _is_asked(page, address):
    try:
        page.goto(address)
    except Error:
        return False
    page.wait_for_function("() => banner.textContent && device.status().joined")
    return page.evaluate("device.status().replyIn !== null || device.status().sent > 0")


def test_the_page_names_every_code_of_an_error():
    codes = re.findall(r'^  \| "(\w+)"', ERRORS, re.MULTILINE)
    assert len(codes) == 15
    named = PAGE.partition("\nEach `code`")[2].partition("\n## ")[0]
    assert re.findall(r"^- `(\w+)`: ", named, re.MULTILINE) == codes


def test_the_example_has_the_fifty_lines_it_promises():
    script = (ROOT / "examples/banner/site/banner.js").read_text()
    assert len(script.splitlines()) <= 50
