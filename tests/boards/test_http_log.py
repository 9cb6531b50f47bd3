"""A log over HTTP, from a server that is busy, mad, or not there."""

import gzip
import tracemalloc

import httpx
import pytest
from tests.boards.local import here
from tests.boards.logs import HONEST, fold, items, voters

from devote.boards import logs
from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.logs import TRIES, HttpLog
from devote.boards.verification import verify_log

URL = "http://devote/experiments/banner"
OURS = {"Devote-Version": "2"}


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    """How long was waited, without waiting."""
    waited = []
    monkeypatch.setattr(logs.time, "sleep", waited.append)
    return waited


class Server:
    """Answers as an honest server of the jury's log does, but for what ``changes`` say."""

    def __init__(self, **changes):
        self.spec, self.log = HONEST["jury"]()
        self.items, self.voters = items(self.log), sorted(voters(self.log))
        self.changes = changes
        self.asked = []

    def __call__(self, request):
        parts = request.url.path.split("/")
        what = "page" if parts[1] == "views" else "log" if "log" in parts else parts[-1]
        self.asked.append(what)
        if what in self.changes:
            return self.changes[what](self, request)
        if what == "page":
            return httpx.Response(404, headers=OURS, json={"error": "no such route"})
        return httpx.Response(200, headers=OURS, json=self.answer(what, request.url.params))

    def answer(self, what, asked):
        limit = int(asked.get("limit", 10**9))
        match what:
            case "messages":
                above = [i for i in self.items if i["number"] > int(asked.get("after", 0))][:limit]
                return {"number": len(self.log), "messages": above, "end": len(above) < limit}
            case "log":
                return {"messages": self.items}
            case "standing":
                return {"state": "open", "ends": None, "delete_after": None}
            case "experiments":
                return {"experiments": [self.experiment]}
            case "enrolments":
                above = [voter for voter in self.voters if voter > asked["after"]][:limit]
                return {"voters": above, "end": len(above) < limit, "enrolled": len(self.voters)}
            case "tally":
                told = fold(self.spec, self.log)
                values = dict(told.values)
                where = {name: values.pop(name) for name in ("board", "fingerprint")}
                return {**where, "number": told.number, "tally": values, "pace": 15}
        return self.experiment

    @property
    def experiment(self):
        return here(self.spec, enrolled=len(self.voters)).to_dict()


def read(server):
    client = httpx.Client(transport=httpx.MockTransport(server))
    with HttpLog(URL, client) as log:
        return verify_log(log)


@pytest.mark.parametrize("missing", [[3], [1, 2, 3, 4, 5, 6], [18], [2, 9, 17]])
def test_a_gap_is_found_once(missing):
    server = Server()
    assert read(server).ok
    server.items = [item for item in server.items if item["number"] not in missing]
    report = read(server)
    assert report.messages == 18 - len(missing)
    assert not report.ok


def test_a_log_that_grows_while_it_is_read_is_verified_up_to_where_it_was():
    late = HONEST["jury"]()[1]

    def growing(server, request):
        body = server.answer("messages", request.url.params)
        body["number"] = 18 if server.asked.count("messages") <= 2 else 99
        return httpx.Response(200, headers=OURS, json=body)

    report = read(Server(messages=growing))
    assert report.ok
    assert report.messages == len(late)


def test_a_server_that_is_busy_is_asked_again(naps):
    def busy(server, request):
        if server.asked.count("messages") < 4:
            return httpx.Response(429, headers=OURS, json={"error": "too many"})
        return httpx.Response(200, headers=OURS, json=server.answer("messages", request.url.params))

    assert read(Server(messages=busy)).ok
    assert naps == [0.5, 1.0, 2.0]


def test_a_server_that_stays_away_is_given_up(naps):
    def gone(server, request):
        raise httpx.ConnectError("gone")

    with pytest.raises(BoardUnavailable, match="cannot be reached"):
        read(Server(messages=gone))
    assert len(naps) == TRIES - 1
    naps.clear()
    with pytest.raises(BoardUnavailable, match="cannot be reached"):
        read(Server(banner=gone))
    assert naps == []  # it was never there


def text(content, status=200, headers=OURS):
    return lambda server, request: httpx.Response(status, headers=headers, content=content)


@pytest.mark.parametrize("what", ["banner", "tally", "messages", "enrolments", "standing", "log"])
@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b"null", b'{"voters": 3}', b"1"])
def test_what_is_not_an_answer_of_ours_is_refused(what, content):
    with pytest.raises(BoardRefused, match="not a devote server"):
        read(Server(**{what: text(content)}))


def test_a_login_page_another_version_and_an_error_are_refused():
    with pytest.raises(BoardRefused, match="not a devote server"):
        read(Server(banner=text(b"{}", headers={})))
    with pytest.raises(BoardRefused, match="has version '9'"):
        read(Server(tally=text(b"{}", headers={"Devote-Version": "9"})))
    with pytest.raises(BoardRefused, match="answered 404: gone"):
        read(Server(banner=text(b'{"error": "gone"}', 404)))


def test_an_answer_that_is_compressed_twice_is_not_unpacked():
    bomb = gzip.compress(gzip.compress(b" " * 2**24))
    headers = {**OURS, "Content-Encoding": "gzip, gzip"}

    def packed(server, request):
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(bomb))

    tracemalloc.start()
    try:
        with pytest.raises(BoardRefused, match="not a devote server"):
            read(Server(tally=packed))
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_pages_without_end_are_not_read_for_ever():
    def again(server, request):
        body = {"number": 10**9, "messages": server.items[:3], "end": False}
        return httpx.Response(200, headers=OURS, json=body)

    def same(server, request):
        return httpx.Response(
            200, headers=OURS, json={"voters": ["a", "b"], "end": False, "enrolled": 2}
        )

    report = read(Server(messages=again, enrolments=same))
    assert report.messages == 3
    assert report.enrolled == 2
    assert not report.ok
