"""``devote verify``: a server that drops, alters, doubles or invents one answer in 10,000."""

import json
import re
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.boards.local import here
from tests.boards.logs import HONEST, NAME, fill, survey_answers, survey_spec
from tests.device.worlds import joined
from tests.server.live import TOKEN, identity, open_store, serving_in_thread

from devote.boards.logs import HttpLog, LogCopy
from devote.boards.verification import verify_log
from devote.device import Device
from devote.device.steps import Change, Clock, Entry
from devote.device.store import Store
from devote.page import page
from devote.protocol import ExperimentSpec, to_json
from devote.server import Settings, create_app
from devote.server.service import LiveBoard

MANY = 10_000
VICTIM = 6_174


@pytest.fixture(scope="module")
def answers():
    return survey_answers(MANY)


@pytest.fixture(scope="module")
def board(tmp_path_factory, answers):
    """The store of an honest server with a survey of so many answers."""
    path = tmp_path_factory.mktemp("board") / "server.db"
    with open_store(path) as store:
        fill(store, survey_spec(), answers, MANY)
    return path


@contextmanager
def serving(path, *changes):
    """A server over a store in which somebody has changed rows by hand."""
    with open_store(path) as store:
        with store.database.write() as db:
            for change in changes:
                db.execute(*change)
        app = create_app(store, Settings(token=TOKEN))
        page.add_page(app)
        with serving_in_thread(app) as address:
            yield f"{address}/experiments/{NAME}"


def save(path, copy):
    """Keep a copy of the log on a server over a store."""
    with serving(path) as url, LogCopy(copy) as kept, HttpLog(url, copy=kept) as log:
        return verify_log(log)


@pytest.fixture(scope="module")
def copy(board):
    """The log of the honest server, as somebody has kept it."""
    assert save(board, board.with_name("copy.jsonl")).ok
    return board.with_name("copy.jsonl")


@pytest.fixture
def lying(tmp_path, board):
    """A server over a copy of the store, changed by hand."""

    @contextmanager
    def serve(*changes):
        copy = tmp_path / "lying.db"
        shutil.copy(board, copy)
        with serving(copy, *changes) as url:
            yield url

    return serve


def found(ran):
    """The findings by check, as the numbers of messages."""
    assert ran.err == ""
    printed = json.loads(ran.out)
    assert printed["ok"] == (ran.code == 0) == (not printed["findings"])
    places = {}
    for finding in printed["findings"]:
        places.setdefault(finding["check"], []).append(finding["number"])
    return places


def test_ten_thousand_honest_answers_pass_and_the_report_says_what_was_checked(devote, lying, copy):
    with lying() as url:
        ran = devote("verify", url)
    assert (ran.code, ran.err) == (0, "")
    assert "banner (survey): 10,000 messages of 10,000 voters, 10,000 enrolled" in ran.out
    assert "All is well." in ran.out
    assert len(re.findall(r"^\w+ +10,000 +-", ran.out, re.MULTILINE)) == 6
    assert re.search(r"^count +3 +-", ran.out, re.MULTILINE)  # the tally, the page and the list
    assert "What this cannot tell" in ran.out
    assert "left out" in ran.out
    (head,) = re.findall(r"^head (10000:\w{64})$", ran.out, re.MULTILINE)
    assert found(devote("verify", copy, "--head", head, "--json")) == {}
    other = devote("verify", copy, "--head", f"10000:{'0' * 64}", "--json")
    assert found(other) == {"count": [None]}


def test_an_altered_answer_is_found_and_named(devote, lying, answers):
    """The other ways to change a log: ``tests/boards/test_verification.py``."""
    message = answers[VICTIM - 1].message
    flipped = to_json(replace(message, bit=1 - message.bit))
    with lying(("UPDATE messages SET message = ? WHERE number = ?", (flipped, VICTIM))) as url:
        ran = devote("verify", url)
    assert ran.code == 1
    assert "WRONG" in ran.out
    output = re.findall(r"signatures: message (.*): the signature is not its voter's", ran.out)
    assert output == ["6,174"]


def test_a_dropped_answer_with_all_others_numbered_anew_is_found_by_who_remembers(
    devote, lying, answers, copy, tmp_path
):
    """The store of the device that was dropped, a copy that anybody kept, and its head alone."""
    store, victim = tmp_path / "device.db", identity(VICTIM)
    device = Store.open(store)
    joined(device, here(survey_spec()), victim)
    device.save(device.load(), Change(outbox=[Entry(answers[VICTIM - 1], "sent", has_left=True)]))
    device.close()
    ran = devote("verify", copy, "--store", store, "--json")
    assert found(ran) == {}
    report = json.loads(ran.out)
    assert report["checked"]["memory"] == 1
    head = f"{report['number']}:{report['head']}"
    drop = ("DELETE FROM messages WHERE number = ?", (VICTIM,))
    # In two steps: no number is ever taken twice.
    away = ("UPDATE messages SET number = -number WHERE number > ?", (VICTIM,))
    back = ("UPDATE messages SET number = -number - 1 WHERE number < 0",)
    with lying(drop, away, back) as url:
        ran = devote("verify", url, "--save", tmp_path / "now.jsonl")
        assert ran.code == 0  # nobody else can tell
        assert "Whether messages were left out" in ran.out  # and it says so
    now = tmp_path / "now.jsonl"
    ran = devote("verify", now, "--store", store)
    assert ran.code == 1
    assert "device.db has a message of" in ran.out
    ran = devote("verify", now, "--against", copy, "--json")
    assert found(ran) == {"memory": [VICTIM, VICTIM + 1]}
    assert found(devote("verify", now, "--head", head, "--json")) == {"count": [None]}


def test_a_tally_that_does_not_follow_from_the_log_is_found(devote, tmp_path, monkeypatch):
    """Another winner; what else a server can show: ``test_verify_lies.py``."""
    spec, log = HONEST["decentralized"]()
    with open_store(tmp_path / "server.db") as store:
        fill(store, spec, log, len(log))
    honest = LiveBoard.snapshot

    def tell(self):
        printed = honest(self)
        return replace(printed, tally={**printed.tally, "answer": [0], "shared": [0]})

    monkeypatch.setattr(LiveBoard, "snapshot", tell)
    with serving(tmp_path / "server.db") as url:
        ran = devote("verify", url)
        assert ran.code == 1
        assert "the server gives as tally's answer [0] of 6 messages, the log gives [2]" in ran.out


def test_arms_that_a_server_falsely_asks_about_and_a_false_snapshot_are_found(
    devote, tmp_path, monkeypatch
):
    """Devices that draw among them would answer about the arms that the server likes."""
    spec, log = HONEST["liars"]()
    counted = spec.scheme.tally(spec)
    while counted.asked == counted.shared:
        counted.add(log[len(counted)].message)
    last = len(counted)
    assert counted.status() == "open"
    with open_store(tmp_path / "server.db") as store:
        fill(store, spec, log, last)
    honest = LiveBoard.snapshot
    asked = list(counted.asked)
    lies = {"asked": list(counted.shared), "snapshot": 0, "counts": [last, 0, 0, 0]}
    truths = {"asked": asked, "snapshot": last, "counts": list(counted.counts)}
    for name, lie in lies.items():

        def tell(self, name=name, lie=lie):
            printed = honest(self)
            return replace(printed, tally={**printed.tally, name: lie})

        monkeypatch.setattr(LiveBoard, "snapshot", tell)
        with serving(tmp_path / "server.db") as url:
            ran = devote("verify", url)
        assert ran.code == 1
        wrong = f"tally's {name} {lie} of {last} messages, the log gives {truths[name]}"
        assert f"the server gives as {wrong}" in " ".join(ran.out.split())
    monkeypatch.setattr(LiveBoard, "snapshot", honest)
    with serving(tmp_path / "server.db") as url:
        assert devote("verify", url).code == 0


def test_a_device_checks_that_what_it_was_told_is_in_the_log(devote, tmp_path):
    spec = ExperimentSpec(arms=["good", "bad"], name=NAME, scheme={"quorum": 2})
    with open_store(tmp_path / "server.db") as store:
        store.create(here(spec))
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    with serving(tmp_path / "server.db") as url:
        for path in (first, second):
            with Device.join(url, store=path) as device:
                while not device.status().sent:
                    device.reward(1.0 if device.choose() == 0 else 0.0)
                    device.sync()
                busy = devote("verify", url, "--store", path)
                assert busy.code == 2
                assert "in use by another process" in busy.err
        ran = devote("verify", url, "--store", first, "--store", second, "--json")
        assert found(ran) == {}
        assert json.loads(ran.out)["checked"]["memory"] == 3  # the second has read the first's
    drop = ("DELETE FROM messages WHERE number = 1",)
    with serving(tmp_path / "server.db", drop, ("UPDATE messages SET number = 1",)) as url:
        assert devote("verify", url).code == 0
        for path, lost in ((first, [1]), (second, [1, 2])):
            places = found(devote("verify", url, "--store", path, "--json"))
            assert places["memory"] == lost
            assert set(places) <= {"memory", "count"}, "what the server has signed shows it too"


def is_bad(ran, remedy):
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("devote: ")
    assert ran.err.count("\n") == 1
    assert remedy in ran.err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("http://127.0.0.1:1/experiments/banner", "cannot be reached (ConnectError). Check"),
        ("127.0.0.1:1/experiments/banner", "Give one like http://"),
        ("http://127.0.0.1:1/experiments/", "Give one like http://"),
        ("nowhere.jsonl", "nowhere.jsonl"),
        ("empty.jsonl", "cut off"),
        ("cut.jsonl", "cut off"),
        ("text.jsonl", "is not a saved log"),
        ("other.jsonl", "is not a saved log"),
        ("spec.jsonl", "is refused"),
        ("copy.jsonl --against nowhere.jsonl", "nowhere.jsonl"),
        ("copy.jsonl --against text.jsonl", "is not a saved log"),
        ("copy.jsonl --against else.jsonl", "is a log of 'else', not of 'banner'"),
        ("copy.jsonl --store nowhere.db", "Check the name of the file"),
        ("copy.jsonl --store text.jsonl", "is not a SQLite file"),
        ("copy.jsonl --store new.db", "Give the store with which it joined"),
        ("copy.jsonl --head 12", "as `devote verify` prints it"),
        ("copy.jsonl --head 12:ABC", "as `devote verify` prints it"),
        ("copy.jsonl --save nowhere/x.jsonl", "Create it first"),
        ("copy.jsonl --save copy.jsonl", "choose another name"),
        ("copy.jsonl --against else.jsonl --save else.jsonl", "choose another name"),
    ],
)
def test_what_cannot_be_read_is_bad_input(devote, saved, words, remedy):
    before = sorted(saved.iterdir())
    is_bad(devote("verify", *words.split()), remedy)
    assert sorted(saved.iterdir()) == before


@pytest.fixture(scope="module")
def saved_once(tmp_path_factory):
    """A folder with a saved log, and files that are none."""
    folder = tmp_path_factory.mktemp("saved")
    spec, log = HONEST["decentralized"]()
    with open_store(folder / "server.db") as store:
        fill(store, spec, log, len(log))
    save(folder / "server.db", folder / "copy.jsonl")
    text = (folder / "copy.jsonl").read_text()
    named = text.replace(spec.fingerprint, spec.with_(name="else").fingerprint)
    files = {
        "empty": "",
        "cut": text.rpartition('{"end"')[0],
        "text": "hello\n",
        "other": '{"devote":"log","format":99}\n',
        "spec": text.replace('"quorum":2', '"quorum":3', 1),
        "else": named.replace(NAME, "else"),
    }
    for name, content in files.items():
        (folder / f"{name}.jsonl").write_text(content)
    Store.open(folder / "new.db").close()
    return folder


@pytest.fixture
def saved(saved_once, tmp_path, monkeypatch):
    folder = shutil.copytree(saved_once, tmp_path / "saved")
    monkeypatch.chdir(folder)
    return folder


def test_an_experiment_that_is_not_there_is_bad_input(devote, saved):
    with serving("server.db") as url:
        server = url.rpartition("/")[0]
        is_bad(devote("verify", f"{server}/nothing"), "There is no experiment 'nothing' here")
        is_bad(devote("verify", f"{server}/a/b"), "Give one like http://")


def test_a_saved_log_that_was_changed_is_found(devote, saved):
    assert devote("verify", "copy.jsonl").code == 0
    lines = [json.loads(line) for line in Path("copy.jsonl").read_text().splitlines()]
    (answer,) = [line["answer"] for line in lines if "/messages?after=" in line.get("path", "")]
    answer["messages"][2]["signature"] = "0" * 128
    Path("copy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert {"shown", "signatures", "count"} <= set(found(devote("verify", "copy.jsonl", "--json")))
    answer["messages"].pop()
    Path("copy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    is_bad(devote("verify", "copy.jsonl"), "is not a saved log")


def test_the_report_fits_a_narrow_terminal(devote, saved, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    ran = devote("verify", "copy.jsonl")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", ran.out).splitlines()
    assert max(len(line.rstrip()) for line in lines if not line.startswith("head")) <= 80
    assert "check       checked" in "\n".join(lines)


def test_a_device_of_a_survey_remembers_its_answer_and_the_tally_it_was_told(devote, tmp_path):
    scheme = {"name": "survey", "privacy": "none", "reply_after": 1.0}
    spec = ExperimentSpec(
        arms=2, name=NAME, epsilon=0.6, delta=0.3, algorithm="mixture_elimination", scheme=scheme
    )
    with open_store(tmp_path / "server.db") as store:
        store.create(here(spec))
    told_only = tmp_path / "told.db"
    with serving(tmp_path / "server.db") as url:
        decided = False
        for number in range(30):
            decider = tmp_path / f"{number}.db"
            clock = Clock(monotonic=lambda: 50.0 * time.monotonic())
            with Device.join(url, store=decider, clock=clock) as device:
                device.reward(1.0 if device.choose() == 0 else 0.0)
                while not device.status().sent:
                    device.sync()
                device.sync()
                decided = device.best() is not None
            if decided:
                break
        assert decided
        with Device.join(url, store=told_only) as device:
            assert device.sync()
        words = ("--store", decider, "--store", told_only, "--json")
        ran = devote("verify", url, *words)
        assert found(ran) == {}
        printed = json.loads(ran.out)
    assert printed["answer"] == ["0"]
    assert printed["checked"]["memory"] == 1
    assert printed["checked"]["count"] > 5  # the tally, the page, the list, what devices were told
    drop = ("DELETE FROM messages WHERE number = ?", (printed["number"],))
    with serving(tmp_path / "server.db", drop) as url:  # the answer that decided is taken back
        ran = devote("verify", url, "--save", tmp_path / "now.jsonl")
    assert ran.code == 0
    places = found(devote("verify", tmp_path / "now.jsonl", *words))
    assert places["memory"] == [None]
    assert set(places["count"]) == {None}
