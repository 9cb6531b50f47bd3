"""How a device reads a log of any size: in pages, conditionally, on from where it broke off."""

import asyncio
import gzip
import json
import tracemalloc

import httpx
import pytest
from tests.boards.local import here, scope
from tests.boards.memory import LOCAL
from tests.device.worlds import joined
from tests.server.live import SPEC, api, enrol_all, identity, open_store, vote

from devote.boards.board import PAGE, BoardRefused, BoardUnavailable, Outcome, page_tag
from devote.boards.http import HOPS, HttpBoard
from devote.boards.operator import Operator
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import sync_once
from devote.protocol import to_json
from devote.protocol.messages import to_dict
from devote.server import Settings, create_app

URL = "/experiments/banner"
LOG = f"{URL}/log/{LOCAL}"


def fill(store, count, *, name="banner"):
    """Post so many votes at once, without waiting for the disk after each."""
    voters = [identity(n + 1) for n in range(-(-count // SPEC.n_arms))]
    enrol_all(store, voters, name)
    rows = []
    for number in range(1, count + 1):
        envelope = vote(voters[(number - 1) // SPEC.n_arms], (number - 1) % SPEC.n_arms)
        text = to_json(envelope.message)
        rows.append((name, number, envelope.message.voter, text, envelope.signature))
    with store.database.write() as db:
        db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)


def newcomer(path, spec=SPEC):
    """A device that has joined and read nothing."""
    store = Store.open(path)
    joined(store, here(spec), identity(10**6))
    return Core(store, check=lambda envelope, scope: True)


class Recorder(httpx.ASGITransport):
    """Passes requests to an application, and remembers what was asked and answered."""

    def __init__(self, app):
        super().__init__(app)
        self.answers = []
        self.cut_after = None

    async def handle_async_request(self, request):
        if self.cut_after is not None and "/log/" in request.url.path:
            self.cut_after -= 1
            if self.cut_after < 0:
                raise httpx.ReadError("cut")
        answer = await super().handle_async_request(request)
        path = request.url.path.removeprefix(f"{URL}").replace(LOCAL, "BOARD")
        self.answers.append((request.method, path, answer.status_code))
        return answer

    def paths(self):
        found = [path for _, path, _ in self.answers]
        self.answers.clear()
        return found


def answering(handler, work, url="http://devote/experiments/banner"):
    """What a coroutine gives whose board is answered by ``handler``."""

    async def main():
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            return await work(HttpBoard(url, client))

    return asyncio.run(main())


def ours(body, status=200, **headers):
    return httpx.Response(status, headers={"Devote-Version": "2", **headers}, json=body)


def redirect(request, old, new, status=301):
    return httpx.Response(status, headers={"Location": str(request.url).replace(old, new)})


def tally_of_nothing():
    where = {"board": scope(SPEC).board, "fingerprint": scope(SPEC).fingerprint}
    public = SPEC.scheme.tally(SPEC).public()
    return ours({**where, "number": 0, "tally": public, "pace": 1, "streams": False})


def test_a_full_page_never_changes_and_the_last_has_a_tag_of_its_contents(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server:
            fill(server.store, PAGE + 2)
            full = await server.client.get(f"{LOG}/1")
            last = await server.client.get(f"{LOG}/2")
            assert full.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert last.headers["Cache-Control"] == "public, max-age=1, stale-while-revalidate=5"
            numbers = [item["number"] for page in (full, last) for item in page.json()["messages"]]
            assert numbers == list(range(1, PAGE + 3))
            signatures = [item["signature"] for item in last.json()["messages"]]
            assert last.headers["ETag"] == f'W/"{page_tag(signatures)}"'
            # Another server over the same board gives the same bytes and the same tag.
            other = httpx.ASGITransport(create_app(server.store, Settings()))
            async with httpx.AsyncClient(transport=other, base_url="http://devote") as client:
                again = await client.get(f"{LOG}/2")
                assert again.content == last.content
                assert again.headers["ETag"] == last.headers["ETag"]
            await server.post(vote(identity(1), 0, term=0))  # a duplicate
            known = {"If-None-Match": last.headers["ETag"]}
            assert (await server.client.get(f"{LOG}/2", headers=known)).status_code == 304
            plain = await server.client.get(f"{LOG}/1", headers={"Accept-Encoding": "identity"})
            none = await server.client.get(f"{LOG}/1", headers={"Accept-Encoding": "gzip;q=0"})
            assert "Content-Encoding" not in plain.headers
            assert "Content-Encoding" not in none.headers
            assert full.headers["Content-Encoding"] == "gzip"
            assert full.content == plain.content == none.content
            sent = int(full.headers["Content-Length"])
            assert sent < 0.55 * len(plain.content)  # keys and signatures are random
            assert {a.headers["Vary"] for a in (plain, full)} == {"Accept-Encoding"}

    asyncio.run(main())


def test_a_page_beyond_the_end_and_another_board_are_refused_in_one_line(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server:
            fill(server.store, 3)
            beyond = await server.client.get(f"{LOG}/2")
            assert beyond.status_code == 404
            assert beyond.json()["error"] == "Page 2 is beyond the end.\nThe last page is 1."
            assert beyond.headers["Cache-Control"] == "no-store"
            other = await server.client.get(f"{URL}/log/{'1' * 32}/1")
            assert (other.status_code, other.json()["error"].splitlines()[0]) == (
                404,
                "The experiment is not on this board.",
            )
            for page in ("0", "-1", "x"):
                assert (await server.client.get(f"{LOG}/{page}")).status_code == 422

    asyncio.run(main())


def test_a_device_reads_the_tally_and_pages_and_nothing_else(tmp_path):
    """And none of it twice: what has not changed is asked for by its name."""

    async def main():
        async with api(tmp_path / "board.db") as server:
            fill(server.store, 2 * PAGE + 20)
            wire = Recorder(server.app)
            async with httpx.AsyncClient(transport=wire) as client:
                core = newcomer(tmp_path / "device.db")
                board = HttpBoard("http://devote/experiments/banner", client)
                assert await sync_once(core, board)
                pages = [f"/log/BOARD/{number}" for number in (1, 2, 3)]
                assert wire.paths() == ["/tally", *pages]
                assert core.record.bookmark.number == 2 * PAGE + 20
                assert core.status().complete
                assert await sync_once(core, board, verify_history=False)
                assert wire.answers == [("GET", "/tally", 304)]
                wire.answers.clear()
                assert await sync_once(core, board)
                assert {status for _, _, status in wire.answers} == {304}
                core.close()

    asyncio.run(main())


def test_reading_goes_on_where_it_broke_off(tmp_path):
    async def main():
        async with api(tmp_path / "board.db") as server:
            fill(server.store, 3 * PAGE + 1)
            wire = Recorder(server.app)
            async with httpx.AsyncClient(transport=wire) as client:
                for cut, reached in ((1, PAGE), (3, 3 * PAGE), (None, 3 * PAGE + 1)):
                    core = newcomer(tmp_path / "device.db") if cut == 1 else reopened(tmp_path)
                    board = HttpBoard("http://devote/experiments/banner", client)
                    wire.cut_after = cut
                    assert await sync_once(core, board) is (cut is None)
                    assert core.record.bookmark.number == reached
                    assert core.status().complete is (cut is None)
                    core.close()
                pages = [path for path in wire.paths() if "/log/" in path]
                # The page of the last message read is looked at again, each time.
                assert [int(path[-1]) for path in pages] == [1, 1, 2, 3, 3, 4]

    def reopened(folder):
        return Core(Store.open(folder / "device.db"), check=lambda envelope, scope: True)

    asyncio.run(main())


def test_votes_that_decide_nothing_are_not_read_and_one_that_does_is(tmp_path):
    """SPEC drops an option at its second vote."""

    async def main():
        async with api(tmp_path / "board.db") as server:
            voters = [identity(n + 1) for n in range(3)]
            enrol_all(server.store, voters)
            wire = Recorder(server.app)
            async with httpx.AsyncClient(transport=wire) as client:
                core = newcomer(tmp_path / "device.db")
                board = HttpBoard("http://devote/experiments/banner", client)
                assert await sync_once(core, board)
                wire.answers.clear()
                for voter, arm, paths in (
                    (0, 1, ["/tally"]),
                    (0, 2, ["/tally"]),
                    (1, 1, ["/tally", "/log/BOARD/1"]),
                    (2, 1, ["/tally"]),
                ):
                    await server.post(vote(voters[voter], arm))
                    assert await sync_once(core, board, verify_history=False)
                    assert wire.paths() == paths
                assert core.status().shared == (0, 2, 3)
                core.close()

    asyncio.run(main())


def test_a_cache_that_is_behind_is_not_taken_for_a_board_from_a_backup(tmp_path):
    """It may be seconds old: the board itself is asked before all is read and sent again."""

    async def main():
        async with api(tmp_path / "board.db") as server:
            fill(server.store, 8)
            old = {
                path: (await server.client.get(path)).content
                for path in (f"{URL}/tally", f"{LOG}/1")
            }
            more = identity(500)
            enrol_all(server.store, [more])
            await server.post(vote(more))
            wire = Recorder(server.app)
            async with httpx.AsyncClient(transport=wire) as client:
                core = newcomer(tmp_path / "device.db")
                board = HttpBoard("http://devote/experiments/banner", client)
                assert await sync_once(core, board)
                assert core.record.bookmark.number == 9

            def behind(request):
                asked.append(request.url.path)
                if request.url.path in old:
                    answer = {"content": old[request.url.path]}
                else:
                    answer = {"content": fresh}
                return httpx.Response(200, headers={"Devote-Version": "2"}, **answer)

            asked = []
            fresh = (await server.client.get(f"{URL}/messages?after=0")).content
            async with httpx.AsyncClient(transport=httpx.MockTransport(behind)) as client:
                board = HttpBoard("http://devote/experiments/banner", client)
                assert await sync_once(core, board)
                assert core.record.bookmark.number == 9
                assert f"{URL}/messages" in asked
                fresh = json.dumps({"number": 3, "messages": [], "end": True})
                await sync_once(core, board)
                assert core.record.bookmark.number == 8  # it has lost the last one indeed
            core.close()

    asyncio.run(main())


@pytest.mark.parametrize("status", [301, 308])
def test_a_server_that_has_moved_for_good_is_followed_and_asked_there_from_then_on(status):
    asked = []

    def handler(request):
        asked.append(str(request.url))
        if request.url.scheme == "http":
            return redirect(request, "http://devote", "https://new:444", status)
        if request.method == "GET":
            return ours(here(SPEC).to_dict())
        return ours({"outcome": "accepted"}, 201)

    async def work(board):
        for arm in (0, 1):
            assert await board.publish(vote(identity(1), arm)) is Outcome.ACCEPTED

    answering(handler, work)
    there = "https://new:444/experiments/banner/messages"
    assert asked == ["http://devote/experiments/banner/messages", there, there]


@pytest.mark.parametrize(
    ("start", "location", "status", "error", "words"),
    [
        ("https", "http://devote/x", 308, BoardRefused, "has no TLS; that is not followed"),
        ("http", "http://devote/x", 302, BoardRefused, "not a devote server"),
        ("http", "ftp://devote/x", 301, BoardRefused, "not a devote server"),
        ("http", "http://devote/x", 301, BoardUnavailable, "TooManyRedirects"),
    ],
)
def test_a_redirect_that_is_not_to_be_followed_is_not(start, location, status, error, words):
    asked = []

    def handler(request):
        asked.append(request)
        return httpx.Response(status, headers={"Location": location})

    with pytest.raises(error, match=words):
        answering(handler, lambda board: board.tally(), f"{start}://devote/experiments/banner")
    assert len(asked) == (HOPS + 1 if error is BoardUnavailable else 1)


def test_a_store_of_any_size_is_served_in_pages(tmp_path):
    with open_store(tmp_path / "board.db") as store:
        store.create(here(SPEC))
        fill(store, 20 * PAGE + 1)
        board = create_app(store, Settings()).state.service.board("banner")
        for number in range(1, 22):
            assert board.read_page(number).is_final is (number <= 20)
        assert board.read_page(22) == 21


@pytest.mark.parametrize("portal", [200, 503, 302])
def test_a_captive_portal_s_redirect_is_forgotten_and_the_server_found_again(portal):
    asked, is_away = [], [True]

    def handler(request):
        asked.append(request.url.host)
        if request.url.host == "portal":
            return httpx.Response(portal, text="Log in")
        return redirect(request, "devote", "portal") if is_away else tally_of_nothing()

    async def work(board):
        for _ in range(2):
            with pytest.raises((BoardRefused, BoardUnavailable)):
                await board.tally()
        is_away.clear()
        return await board.tally()

    assert answering(handler, work).number == 0
    assert asked == ["devote", "portal", "devote", "portal", "devote"]


@pytest.mark.parametrize("fails_by", ["silence", "another page"])
def test_a_server_that_has_moved_and_then_fails_is_asked_at_its_first_address_again(fails_by):
    asked, state = [], ["moved"]

    def handler(request):
        asked.append(request.url.host)
        if request.url.host == "new" and state == ["gone"]:
            if fails_by == "another page":
                return httpx.Response(200, text="This domain is for sale")
            raise httpx.ConnectError("no")
        if request.url.host == "devote" and state == ["moved"]:
            return redirect(request, "devote", "new")
        return tally_of_nothing()

    async def work(board):
        await board.tally()
        state[0] = "gone"
        with pytest.raises((BoardUnavailable, BoardRefused)):
            await board.tally()
        return await board.tally()

    assert answering(handler, work).number == 0
    assert asked == ["devote", "new", "new", "devote"]


@pytest.mark.parametrize("knows", [False, True])
def test_an_invite_is_not_taken_to_another_host_and_follows_on_the_same(knows):
    seen, there = [], "elsewhere"

    def handler(request):
        seen.append((request.url.host, b"secret" in request.content))
        if request.url.scheme == "http" and request.url.host == "devote":
            return redirect(request, "http://devote", f"https://{there}", 308)
        if request.method == "GET":
            return ours(here(SPEC).to_dict())
        return ours({"outcome": "accepted"}, 201)

    async def work(board):
        if knows:
            await board.fetch_experiment()
        return await board.enrol(identity(1), "secret")

    with pytest.raises(BoardRefused, match="not followed with an invite"):
        answering(handler, work)
    assert ("elsewhere", True) not in seen
    assert ("devote", True) in seen
    there = "devote"
    assert answering(handler, work) is Outcome.ACCEPTED


def test_the_operator_s_token_is_not_taken_to_another_host(monkeypatch):
    seen = []

    def handler(request):
        seen.append((request.url.host, request.headers.get("Authorization")))
        if request.url.host == "devote":
            return redirect(request, "devote", "elsewhere")
        return ours({"experiments": []})

    transport, plain = httpx.MockTransport(handler), httpx.Client

    def client(**options):
        return plain(**{**options, "transport": transport, "verify": True})

    monkeypatch.setattr("devote.boards.operator.httpx.Client", client)
    with Operator("http://devote") as reader:
        assert reader.experiments() == []
    with (
        Operator("http://devote", "a token") as operator,
        pytest.raises(BoardRefused, match="another host"),
    ):
        operator.experiments()
    assert [host for host, token in seen if token] == ["devote"]


def test_an_answer_that_is_compressed_twice_is_not_unpacked():
    bomb = gzip.compress(gzip.compress(b" " * 2**24))

    def handler(request):
        assert request.headers["Accept-Encoding"] in ("gzip", "identity")
        headers = {"Devote-Version": "2", "Content-Encoding": "gzip, gzip"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(bomb))

    async def work(board):
        with pytest.raises(BoardRefused, match="not a devote server"):
            await board.tally()

    tracemalloc.start()
    try:
        answering(handler, work)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("spelling", [b"\\ud800", b"\xed\xa0\x80"])
def test_half_a_character_is_no_answer_and_does_not_wedge_a_device(tmp_path, spelling):
    """The last page was kept with it, and every later read failed until a restart."""
    envelope = vote(identity(1))
    good = {"number": 1, "message": to_dict(envelope.message), "signature": envelope.signature}
    where = {"board": scope(SPEC).board, "fingerprint": scope(SPEC).fingerprint}
    signatures = [b'"' + spelling + b'"', json.dumps(envelope.signature).encode()]

    def handler(request):
        if request.url.path.endswith("/tally"):
            spec = SPEC.scheme.tally(SPEC)
            return ours({**where, "number": 1, "tally": spec.public(), "pace": 1, "streams": False})
        page = {**where, "page": 1, "full": False, "messages": [good]}
        body = json.dumps(page).encode()
        if signatures:
            body = body.replace(json.dumps(envelope.signature).encode(), signatures[0])
        return httpx.Response(200, headers={"Devote-Version": "2"}, content=body)

    core = newcomer(tmp_path / "device.db")

    async def work(board):
        assert not await sync_once(core, board)
        assert "not a devote server" in core.status().degraded[0]
        signatures.clear()
        assert await sync_once(core, board)

    answering(handler, work)
    assert core.record.bookmark.number == 1
    core.close()
