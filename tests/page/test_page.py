"""The routes of the page: what they serve, what they refuse, and that nothing can be written."""

import asyncio
import re
from functools import partial
from importlib.resources import files

import pytest
from tests.server.live import identity, served, vote

from devote.page import page
from devote.page.page import FILES
from devote.server.service import Shared

ALICE, BOB = identity(1), identity(2)


paged = partial(served, voters=2, page=True)


@paged()
async def test_the_page_and_its_files_are_served_with_a_strict_policy(server):
    for name in FILES:
        path = "/" if name == "page.html" else f"/{name}"
        answer = await server.client.get(path)
        assert answer.status_code == 200
        assert answer.content == files("devote.page").joinpath("static", name).read_bytes()
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        tag = {"If-None-Match": answer.headers["ETag"]}
        assert (await server.client.get(path, headers=tag)).status_code == 304


def test_no_file_names_another_host_or_an_absolute_path():
    for name in FILES:
        text = files("devote.page").joinpath("static", name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?:[^\s\"')]*|(?:src|href)=\"/[^\"]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, "below a proxy's path it works too"


@paged()
async def test_a_view_follows_the_board_and_is_not_sent_again_if_nothing_changed(server):
    first = await server.client.get("/views/banner")
    assert first.json()["number"] == 0
    tag = {"If-None-Match": f"W/{first.headers['ETag']}"}
    assert (await server.client.get("/views/banner", headers=tag)).status_code == 304
    await server.post(vote(ALICE, 3))
    second = await server.client.get("/views/banner", headers=tag)
    assert (second.status_code, second.json()["number"]) == (200, 1)
    assert second.json()["arms"][3] == {
        "name": "3",
        "count": 1,
        "out_at": None,
        "answer": False,
        "leads": False,
        "state": "still in",
        "difference": None,
    }
    await server.post(vote(BOB, 3))
    assert (await server.client.get("/views/banner")).json()["arms"][3]["out_at"] == 2


@paged()
async def test_the_list_says_how_each_experiment_stands(server):
    for voter in (ALICE, BOB):
        for arm in (1, 2, 3):
            await server.post(vote(voter, arm))
    (item,) = (await server.client.get("/views")).json()
    assert item == {
        "advice": {"kind": "use", "text": "Use 0"},
        "so_far": "1 of 4 options are left",
        "now": {"days": [], "left": None, "open": True, "rate": None, "warning": None},
        "name": "banner",
        "options": 4,
        "players": None,
        "enrolled": 2,
        "number": 6,
        "status": "agreed",
        "open": 1,
        "answer": ["0"],
        "decided": None,
    }


@pytest.mark.parametrize(("path", "status"), [("/views/none", 404), ("/views/a%20b", 422)])
@paged()
async def test_an_unknown_experiment_is_said_to_be_unknown_and_leaves_no_trace(
    server, path, status
):
    for _ in range(2):
        answer = await server.client.get(path)
        assert (answer.status_code, "error" in answer.json()) == (status, True)


@paged()
async def test_nothing_can_be_written_through_the_page(server):
    for path in ("/", "/views", "/views/banner"):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert (await server.client.request(method, path, json={})).status_code == 405


@paged(read_rate=1.0, read_burst=20_000.0)
async def test_views_count_against_the_limit_on_reading(server):
    statuses = [(await server.client.get("/views/banner")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


@paged()
async def test_many_onlookers_cost_no_more_than_one(server, monkeypatch):
    made = []
    view = page.view
    monkeypatch.setattr(page, "view", lambda *args: made.append(1) or view(*args))
    shared = Shared(partial(page._one_view, server.service, "banner"), every=0.3)
    for burst in range(2):
        await server.post(vote(ALICE, burst))
        found = await asyncio.gather(*(shared.get() for _ in range(100)))
        assert len({document.tag for document in found}) == 1
        assert b'"number":%d' % (burst + 1) in found[0].body, "never older than the question"
    assert len(made) <= 4


@paged()
async def test_a_restored_older_file_is_read_anew(server):
    for arm in (1, 2):
        await server.post(vote(ALICE, arm))
    assert (await server.client.get("/views/banner")).json()["number"] == 2
    with server.store.database.write() as db:
        db.execute("DELETE FROM messages WHERE number = 2")
    view = (await server.client.get("/views/banner")).json()
    assert (view["number"], [arm["count"] for arm in view["arms"]]) == (1, [0, 1, 0, 0])
