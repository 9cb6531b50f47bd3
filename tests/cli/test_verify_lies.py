"""``devote verify`` finds what a server shows that does not follow from its log, or not everywhere.

Each lie is one change to what an honest server answers.
"""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.boards.logs import HONEST, NAME, fill, survey_answers, survey_spec
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.boards import logs
from devote.page.page import add_page
from devote.server import Settings, create_app

EXPERIMENT = f"/experiments/{NAME}"
VIEW = f"/views/{NAME}"


class Liar:
    """A server whose answers at some paths are changed."""

    def __init__(self, app, lies):
        self.app, self.lies = app, lies

    async def __call__(self, scope, receive, send):
        lie = self.lies.get(scope.get("path"))
        if lie is None:
            await self.app(scope, receive, send)
            return
        plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        start, body = None, b""

        async def gather(message):
            nonlocal start, body
            start = message if message["type"] == "http.response.start" else start
            body += message.get("body", b"")

        await self.app({**scope, "headers": plain}, receive, gather)
        content = json.loads(body)
        changed = lie(content)
        body = json.dumps(content if changed is None else changed).encode()
        kept = [pair for pair in start["headers"] if pair[0] != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        await send({**start, "headers": [*kept, length]})
        await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(store, lies):
    app = create_app(store, Settings(token=TOKEN))
    add_page(app)
    app.add_middleware(Liar, lies=lies)
    with serving_in_thread(app) as address:
        yield f"{address}{EXPERIMENT}"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    spec, log = HONEST["survey"]()
    with open_store(tmp_path_factory.mktemp("board") / "server.db") as store:
        fill(store, spec, log, len(log))
        yield store


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(logs, "LAGS", (0.0,))


def entry(change):
    """A change to this experiment's entry in a list of them."""

    def lie(content):
        entries = content["experiments"] if isinstance(content, dict) else content
        change(entries[0])

    return lie


def setting(**values):
    def lie(content):
        content.update(values)

    return lie


def _swap_names(page):
    arms = page["arms"]
    arms[0]["name"], arms[1]["name"] = arms[1]["name"], arms[0]["name"]


def _other_bounds(page):
    page["bounds"] = page["bounds"][:-1]


def _other_message(page):
    page["device"]["messages"][0]["sent"]["signature"] = "0" * 128


def _other_order(page):
    page["timeline"]["step"] += 1


def _other_privacy(page):
    page["privacy"] = {"name": "privacy", "text": "Nothing can be told of anybody."}


def _twice(entries):
    return [*entries, {**entries[0], "advice": {"kind": "use", "text": "Use 3"}}]


def _other_log(page):
    messages = page["messages"]
    messages[0], messages[1] = (
        {**messages[1], "number": messages[0]["number"]},
        {**messages[0], "number": messages[1]["number"]},
    )


def _shorter_log(page):
    page["messages"].pop()


LIES = {
    "swapped arm names on the page": (VIEW, _swap_names),
    "another leader on the page": (VIEW, setting(leader="3")),
    "other bounds on the page": (VIEW, _other_bounds),
    "other messages on the page": (VIEW, _other_message),
    "another order on the page": (VIEW, _other_order),
    "another privacy on the page": (VIEW, _other_privacy),
    "another state on the page": (VIEW, setting(standing="closed")),
    "fewer enrolled on the page": (VIEW, setting(enrolled=1)),
    "more enrolled on the page": (VIEW, setting(enrolled=1_000)),
    "other players on the page": (VIEW, setting(players=1_000)),
    "another answer in the list": ("/views", entry(setting(status="agreed", answer=["3"]))),
    "fewer enrolled in the list": ("/views", entry(setting(enrolled=1))),
    "a list without it": ("/views", lambda content: []),
    "a list with it twice": ("/views", _twice),
    "a list of experiments without it": ("/experiments", setting(experiments=[])),
    "another enrolment": (EXPERIMENT, setting(enrolment="invite")),
    "other players": (EXPERIMENT, setting(players=1_000)),
    "fewer enrolled": ("/experiments", entry(setting(enrolled=1))),
    "another state": (f"{EXPERIMENT}/standing", setting(state="closed")),
    "a pace of years": (f"{EXPERIMENT}/tally", setting(pace=10**9)),
}


def read(devote, url, *words):
    ran = devote("verify", url, *words, "--json")
    assert ran.err == ""
    report = json.loads(ran.out)
    assert report["ok"] == (ran.code == 0)
    return [(found["check"], found["text"]) for found in report["findings"]]


@pytest.mark.parametrize("scheme", HONEST)
def test_what_an_honest_server_shows_is_right(devote, tmp_path, scheme):
    spec, log = HONEST[scheme]()
    with open_store(tmp_path / "server.db") as store:
        fill(store, spec, log, len(log))
        with serving(store, {}) as url:
            assert read(devote, url) == []


@pytest.mark.parametrize("lie", LIES)
def test_what_is_shown_falsely_in_one_place_is_found(devote, board, lie):
    path, change = LIES[lie]
    with serving(board, {path: change}) as url:
        checks = {check for check, _ in read(devote, url)}
    assert checks
    assert checks <= {"shown", "count"}


@pytest.mark.parametrize("change", [_other_log, _shorter_log])
def test_pages_of_the_log_that_differ_from_the_messages_are_found(devote, board, change):
    page = f"{EXPERIMENT}/log/{board.scope(NAME).board}/1"
    with serving(board, {page: change}) as url:
        ((check, text),) = read(devote, url)
    assert check == "shown"
    assert "page 1 of /log has another message than /messages" in text


def test_a_frozen_tally_is_found_though_it_was_right_once(devote, tmp_path):
    """And with it the page and the list: all of them are of the first 20 of 40 messages."""
    spec, log = survey_spec(), survey_answers(40)
    paths = (f"{EXPERIMENT}/tally", VIEW, "/views")
    old = {}
    with open_store(tmp_path / "server.db") as store:
        fill(store, spec, log, 20)
        with serving(store, {p: lambda seen, p=p: old.update({p: seen}) for p in paths}) as url:
            assert read(devote, url, "--save", tmp_path / "before.jsonl") == []
        for envelope in log[20:]:
            store.post(NAME, envelope)
        for path in paths:
            with serving(store, {path: lambda _, path=path: old[path]}) as url:
                ((check, text),) = read(devote, url)
            assert check == "shown"
            assert text == f"{path} gives as number 20, and it should be 40 or more"


def test_players_and_enrolment_that_changed_everywhere_are_found_by_who_remembers(devote, tmp_path):
    spec, log = HONEST["decentralized"]()
    copy = Path(tmp_path / "copy.jsonl")
    with open_store(tmp_path / "server.db") as store:
        fill(store, spec, log, len(log))
        with serving(store, {}) as url:
            assert read(devote, url, "--save", copy) == []
        with store.database.write() as db:
            db.execute("UPDATE experiments SET players = 2000, enrolment = 'invite'")
    with open_store(tmp_path / "server.db") as store, serving(store, {}) as url:
        assert read(devote, url) == []
        found = read(devote, url, "--against", copy)
    assert {text.split()[3] for _, text in found} == {"players", "enrolment"}
