"""The page in headless Chromium, against a real server."""

import pytest
from examples.scheme.first_to_finish import Finished
from playwright.sync_api import expect
from tests.page.applause import Boo
from tests.page.board_rows import ten_thousand
from tests.page.watching import Voters
from tests.server.live import identity
from tests.server.process import ServerProcess

from devote.boards.store import SqliteStore
from devote.protocol import Case, ExperimentSpec

pytestmark = pytest.mark.browser

SPEC = ExperimentSpec(arms=["red", "green", "blue", "grey"], name="banner", scheme={"quorum": 3})
LOAD_FAILED = "Failed to load resource"


def test_options_go_out_live_one_by_one_and_the_answer_comes_last(server, onlooker):
    server.open(SPEC, players=4)
    page = onlooker("#banner")
    page.sees("#verdict", "Waiting for the first message")
    classes = ["in"] * 4
    for place, arm in enumerate([3, 1], start=1):
        for voter in (1, 2, 3):
            server.vote("banner", voter, arm)
            page.sees(f"#arms li:nth-child({arm + 1}) .count", f"{voter} of 3")
        classes[arm] = "out"
        page.sees_classes("#arms li", classes)
        page.sees("#verdict", f"Keep running: {4 - place} of 4 options are left")
    for voter in (1, 2, 3):
        server.vote("banner", voter, 2)
    page.sees("#verdict", "Use red")
    page.sees_classes("#arms li", ["winner", "out", "out", "out"])
    page.sees("#arms .state", ["the answer", "out at 6", "out at 9", "out at 3"])
    page.sees("#facts dd", ["open", "3 of 4", "9", "above 25 points"])
    page.sees("#technical dd", ["decentralized, ser3", "3"])
    assert not page.reloaded


@pytest.mark.usefixtures("forked_programs")
def test_real_devices_with_hidden_clicks_bring_the_right_winner_onto_the_page(
    server, onlooker, tmp_path
):
    from devote.demo.processes import CrowdProcess, Task

    server.open(SPEC.with_(arms=["worst", "best", "middling"]), players=8)
    page = onlooker("#banner")
    url = f"{server.address}/experiments/banner"
    crowd = CrowdProcess(Task(url, tmp_path, (0.05, 0.9, 0.4), dict.fromkeys(range(8)), seed=0))
    crowd.start()
    try:
        expect(page.page.locator("#verdict")).to_have_text("Use best", timeout=120_000)
    finally:
        crowd.kill()
    page.sees_classes("#arms li", ["out", "winner", "out"])
    assert not page.reloaded


@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_it_survives_a_restart_of_the_server_without_a_reload(tmp_path, onlooker, how):
    process = ServerProcess(tmp_path)
    process.start()
    voters = Voters(process.address, process.token)
    voters.open(SPEC, players=4)
    voters.vote("banner", 1, 3)
    page = onlooker("#banner", process.address)
    page.sees("#arms li:nth-child(4) .count", "1 of 3")
    page.sees("#link", "live")
    getattr(process, how)()
    page.sees("#link", "server away, trying again")
    page.sees("#arms li:nth-child(4) .count", "1 of 3")  # what is known stays on show
    process.start()
    page.sees("#link", "live")
    for voter in (2, 3):
        voters.vote("banner", voter, 3)
    page.sees_classes("#arms li", ["in", "in", "in", "out"])
    assert not page.reloaded
    page.page.goto("about:blank")
    voters.close()
    process.stop()
    page.forgive(f"{LOAD_FAILED}: net::ERR_")


def test_a_stream_of_numbers_brings_the_news_and_no_messages(server, onlooker):
    server.open(SPEC)
    server.vote("banner", 1, 3)
    page = onlooker("#banner")
    page.sees("#arms li:nth-child(4) .count", "1 of 3")
    server.vote("banner", 2, 3)
    page.sees("#arms li:nth-child(4) .count", "2 of 3")
    streams = [url for url in page.requests if "/stream" in url]
    assert streams == [f"{server.address}/views/banner/stream"]


def bounds(spec, players):
    return [bound.name for bound in spec.scheme.guarantees(Case(spec, players)).bounds]


@pytest.mark.parametrize("against", [1, 0])
def test_a_stall_names_what_is_left(server, onlooker, against):
    spec = SPEC.with_(arms=["red", "green"], scheme={"quorum": 4})
    server.open(spec, players=4)
    for voter, arm in [(1, 0), (2, 0), (3, 1), (4, against)]:
        server.vote("banner", voter, arm)
    page = onlooker("#banner")
    left = "green and red" if against == 0 else "red and green"
    page.sees("#verdict", f"No answer: the devices could not agree between {left}")
    page.sees("#bounds small", bounds(spec, 4))
    page.page.goto(f"{server.address}/#")
    page.sees("#cards .state", f"No answer: the devices could not agree between {left}")


@pytest.mark.parametrize("width", [1180, 390])
def test_a_scheme_from_outside_is_drawn_without_a_change_to_the_page(
    applause, server, onlooker, width
):
    server.open(SPEC.with_(scheme="applause", name="outside", eta=0.0625), players=4)
    page = onlooker("#outside", width=width)
    page.sees("#verdict", "Waiting for the first message")
    server.send(3, Boo("outside", 0, identity(3).voter))
    for voter in (1, 2):
        server.send(voter, Finished("outside", 2, identity(voter).voter))
    page.sees("#verdict", "Use blue")
    page.sees("#counted", "Finished with, by option")
    page.sees("#arms .count", ["0 of 1", "0 of 1", "2", "0 of 1"])
    page.sees("#bounds b", ["25 %"])
    page.sees("#technical div:nth-child(2)", "Devices that have finished2")
    assert page.page.locator("#lanes .lane").count() == 8
    assert page.overflow() == 0


def test_the_panel_holds_the_very_messages_of_one_device(server, onlooker):
    server.open(SPEC)
    for voter, arm in [(1, 3), (2, 3), (1, 2)]:
        server.vote("banner", voter, arm)
    page = onlooker("#banner")
    page.sees("#messages span", ["Vote: grey", "Vote: blue"])
    posted = page.page.request.get(f"{server.address}/experiments/banner/messages").json()
    signatures = [item["signature"] for item in posted["messages"]]
    for text, signature in zip(
        page.page.locator("#messages code").all_text_contents(), signatures[::2], strict=True
    ):
        assert signature in text


def test_an_unknown_experiment_is_said_to_be_unknown_and_shown_once_it_is_there(server, onlooker):
    page = onlooker("#banner")
    page.sees("#problem", "There is no experiment “banner” on this server.")
    expect(page.page.locator("#experiment")).to_be_hidden()
    server.open(SPEC)
    page.sees("#name", "banner")
    expect(page.page.locator("#error")).to_be_hidden()
    page.page.goto(f"{server.address}/#%")
    page.sees("#problem", "There is no experiment “%” on this server.")
    page.forgive(LOAD_FAILED)


def test_names_are_text_whatever_they_contain(server, onlooker):
    name = "<img src=x onerror=alert(1)>"
    server.open(SPEC.with_(arms=[name, "&amp;", "b\u202e\x1b[2K"]))
    server.vote("banner", 1, 0)
    page = onlooker("#banner")
    page.sees("#arms .name", [name, "&amp;", "b\\u202e\\u001b[2K"])
    page.sees("#messages span", f"Vote: {name}")
    assert page.page.locator("main img").count() == 0


def test_the_list_leads_to_each_experiment_and_back_by_history(server, onlooker):
    server.open(SPEC)
    server.open(SPEC.with_(name="second"))
    page = onlooker()
    page.sees("#cards strong", ["banner", "second"])
    page.page.get_by_role("link", name="second").click()
    page.sees("#name", "second")
    expect(page.page).to_have_title("second · devote")
    page.page.go_back()
    expect(page.page.get_by_role("heading", name="Experiments")).to_be_visible()


def test_a_server_without_experiments_says_how_to_open_one(server, onlooker):
    page = onlooker()
    expect(page.page.locator("#none")).to_be_visible()
    page.page.get_by_role("link", name="Open an experiment").click()
    expect(page.page.get_by_role("heading", name="Open an experiment")).to_be_visible()


def test_ten_thousand_messages_are_shown_and_the_next_one_too(server, onlooker, tmp_path):
    server.open(SPEC.with_(arms=10, scheme={"quorum": 28}))
    store = SqliteStore(tmp_path / "server.db")
    with store.database.write() as db:
        db.executemany("INSERT INTO messages VALUES ('banner', ?, 'x', ?, ?)", ten_thousand())
    store.close()
    page = onlooker("#banner")
    page.sees("#verdict", "Use 0")
    page.sees("#last", "message 10,000")
    server.vote("banner", 1, 0)
    page.sees("#last", "message 10,001")
