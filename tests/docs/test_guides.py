"""The guides to a fleet work: their blocks run in order, in one folder, against live servers."""

import re
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest
from playwright.sync_api import Error
from tests.browser.site import CLIENT
from tests.docs.markdown import DOCS, ROOT, text_of, words_of
from tests.docs.walk import environment, follow, run, steps
from tests.server.live import SPEC, invites, open_store
from tests.tools import free_port

from devote.boards.board import BoardRefused, Experiment
from devote.boards.jetstream.connection import LEAST
from devote.boards.operator import Operator
from devote.boards.store import SqliteStore
from devote.demo.processes import ServerProcess
from devote.server import Settings
from devote.server.settings import LIMITS

OPERATE = text_of(DOCS / "operate.md")
PORTS = ("4222", "4223", "4224", "6222", "6223", "6224", "8600", "8601")


@pytest.mark.usefixtures("forked_programs")
def test_a_fleet_finds_the_best_banner_and_its_operator_does_a_days_work(tmp_path):
    server = ServerProcess(tmp_path)
    server.start()
    # The guide's server has the names that `devote serve` gives; this one is on a free port.
    (tmp_path / "devote-server.db.token").symlink_to(tmp_path / "operator.token")
    (tmp_path / "devote-server.db").symlink_to(tmp_path / "server.db")

    def change(text):
        return text.replace("http://127.0.0.1:8600", server.address)

    try:
        fleet = follow("fleet.md", tmp_path, change)
        for words in (f"{server.address}/experiments/banner\n", "offline since", "answer: green"):
            assert words in fleet
        # a log, its copy, and against the copy
        assert follow("verify.md", tmp_path, change).count("All is well.") == 4
        operate = follow("operate.md", tmp_path, change)
        for line in (
            "banner is open until 2099-12-31 18:00 UTC.",
            "banner is closed, end 2099-12-31 18:00 UTC.",
            "All is well.",
            "links.txt: 20 invites.",
            "0 devices and 20 invites are revoked.",
        ):
            assert line in operate
        late = Operator(server.address, server.token)
        with late, pytest.raises(BoardRefused, match="token"):
            late.overview()
        fresh = (tmp_path / "operator.token").read_text().strip()
        with Operator(server.address, fresh) as operator:
            assert [item["name"] for item in operator.overview()] == ["banner"]
        with urlopen(f"{server.address}/metrics") as answer:
            metrics = answer.read().decode()
        assert all(name in metrics for name in re.findall(r"`(devote_\w+)", OPERATE))
    finally:
        server.stop()
    kept = SqliteStore(tmp_path / "backup.db")
    assert kept.rows("banner")[0] > 0
    assert invites(kept) == (60, 38)
    kept.close()


@pytest.mark.usefixtures("forked_programs")
def test_flags_and_limits_work_as_shown(tmp_path):
    server = ServerProcess(tmp_path)
    server.start()
    try:
        with Operator(server.address, server.token) as operator:
            spec = SPEC.with_(name="banner", arms=("red", "green", "blue"), scheme="survey")
            operator.open(Experiment(spec, "open"))
        for page in ("openfeature.md", "take_part.md"):
            printed = follow(
                page, tmp_path, lambda text: text.replace("http://127.0.0.1:8600", server.address)
            )
            assert re.match("red|green|blue", printed)
    finally:
        server.stop()


@pytest.mark.usefixtures("forked_programs")
def test_phones_and_desktops_are_shown_their_best_banners(tmp_path):
    """300 visitors; in 200 runs without a server the most answers needed were 170, mean 107."""
    server = ServerProcess(tmp_path)
    server.start()
    (tmp_path / "devote-server.db.token").symlink_to(tmp_path / "operator.token")
    try:
        printed = follow(
            "segments.md",
            tmp_path,
            lambda text: text.replace("http://127.0.0.1:8600", server.address),
        )
    finally:
        server.stop()
    for kind, banner in (("phone", "autumn"), ("desktop", "spring")):
        assert f"{kind} is shown {banner}\n" in printed
        assert f"  {kind}: settled on {banner}\n" in printed
    assert "All is well." in printed


def test_every_limit_is_named_with_its_default():
    table = OPERATE.partition("\n## Limits\n")[2].partition("\n## ")[0]
    groups = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    assert {name for group in groups for name in re.findall(r"`(\w+)`", group)} == set(LIMITS)
    for name, value in ((name, getattr(Settings(), name)) for name in LIMITS):
        (row,) = [line for line in table.splitlines() if f"`{name}`" in line.partition(" | ")[0]]
        assert f"{value:,.0f}" in row, f"{name} is {value}"


@pytest.mark.slow
def test_devices_agree_without_a_server(tmp_path):
    printed = follow("serverless.md", tmp_path)
    # The last: all devices have ended.
    for words in ("answer: green", "never decide differently", "signed: 10", "silent"):
        assert words in printed


@pytest.mark.slow
def test_servers_share_a_log_on_three_nodes(tmp_path, background):
    with open_store(tmp_path / "devote-server.db") as store:
        store.create(Experiment(SPEC.with_(name="older")))
    ports = {port: str(free_port()) for port in PORTS}
    env, output = environment("cluster.md", tmp_path), ""

    def change(text):
        return re.sub("|".join(PORTS), lambda found: ports[found[0]], text)

    for mark, language, text in steps("cluster.md", tmp_path, change):
        if mark != "background":
            output += run(language, text, tmp_path, env)
            continue
        shell = ["bash", "-euc", text + "wait"]
        background.append(subprocess.Popen(shell, start_new_session=True, cwd=tmp_path, env=env))
        if "devote serve" in text:
            _wait(f"http://127.0.0.1:{ports['8600']}/health")
            _wait(f"http://127.0.0.1:{ports['8601']}/health")
        else:
            time.sleep(1.0)
    assert f"http://127.0.0.1:{ports['8600']}/experiments/banner" in output
    assert "older: 0 messages, 0 devices, 0 unused invites: moved, read back, the same" in output


def _wait(address):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{address} does not answer")


def test_the_oldest_nats_server_that_will_do_is_named():
    assert f"nats-server {LEAST[0]}.{LEAST[1]} or later" in words_of(DOCS / "cluster.md")


@pytest.mark.browser
@pytest.mark.usefixtures("forked_programs")
def test_a_visitors_browser_answers_a_survey(chromium, tmp_path, background):
    port = free_port()
    shop = f"http://127.0.0.1:{port}"
    server = ServerProcess(tmp_path, options=["--allow-origin", shop])
    server.start()
    (tmp_path / "devote-server.db.token").write_text(server.token)
    (tmp_path / CLIENT.name).write_bytes(CLIENT.read_bytes())
    env, checks = environment("browser.md", tmp_path), []

    def change(text):
        text = text.replace("http://127.0.0.1:8600", server.address)
        text = text.replace('"127.0.0.1", 8000', f'"127.0.0.1", {port}')
        return text.replace("reply_after = 60.0", "reply_after = 1.0")

    try:
        for _, language, text in steps("browser.md", tmp_path, change):
            if "verify" in text:
                checks.append(text)
            else:
                run(language, text, tmp_path, env)
        background.append(
            subprocess.Popen(
                [sys.executable, "shop.py"],
                cwd=tmp_path,
                env=env,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        with chromium.new_context() as context:
            page = context.new_page()
            while not _is_asked(page, shop):  # starting, or not asked in time
                assert background[0].poll() is None
                page.wait_for_timeout(200)
            assert page.inner_text("#banner") in ("spring", "summer", "autumn")
            page.click("#banner")
            page.wait_for_function("() => device.status().sent === 1")
        (check,) = checks
        assert "All is well." in run("sh", check, tmp_path, env)
    finally:
        server.stop()


def _is_asked(page, address):
    try:
        page.goto(address)
    except Error:
        return False
    page.wait_for_function("() => banner.textContent && device.status().joined")
    return page.evaluate("device.status().replyIn !== null || device.status().sent > 0")


def test_every_code_of_an_error_in_a_browser_is_named():
    codes = re.findall(
        r'^  \| "(\w+)"', text_of(ROOT / "clients/js/src/errors.ts"), flags=re.MULTILINE
    )
    named = text_of(DOCS / "browser.md").partition("\nEach `code`")[2].partition("\n## ")[0]
    assert re.findall(r"^- `(\w+)`: ", named, re.MULTILINE) == codes
    assert len(codes) == 20
