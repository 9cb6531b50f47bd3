"""The operator's routes and tokens: who may call what, what comes of it, and what is logged."""

import stat
import time

import pytest
from tests.boards.local import here
from tests.boards.logs import survey_spec
from tests.server.live import (
    SPEC,
    TOKEN,
    enrol,
    enrol_all,
    identity,
    open_store,
    served,
    serving_in_thread,
    vote,
)

from devote.boards.board import BoardRefused
from devote.boards.http import HttpBoard
from devote.boards.operator import Operator
from devote.page.page import add_page
from devote.schemes import Answer
from devote.server import Settings, create_app
from devote.server.limits import RateLimit
from devote.server.settings import (
    Grant,
    ServerError,
    grant_of,
    load_settings,
    read_tokens,
    remove_token,
    write_token,
)

ALICE = identity(1)
URL = "/experiments/banner"
CALLS = {
    "overview": ("GET", "/overview", None),
    "open": ("POST", "/experiments", {"spec": SPEC.to_dict(), "enrolment": "open"}),
    "invites": ("POST", f"{URL}/invites", {"count": 1}),
    "invites elsewhere": ("POST", "/experiments/other/invites", {"count": 1}),
    "revoke invites": ("DELETE", f"{URL}/invites", None),
    "close": ("POST", f"{URL}/standing", {"state": "closed"}),
    "revoke": ("POST", f"{URL}/revocations", {"voters": [ALICE.voter]}),
    "delete": ("DELETE", URL, None),
}
ALLOWED = {
    Grant("operator"): set(CALLS),
    Grant("inviter", "banner"): {"invites"},
    Grant("inviter", "other"): {"invites elsewhere"},
    Grant("reader"): {"overview"},
}


@pytest.mark.parametrize("grant", ALLOWED, ids=str)
@served()
async def test_a_token_allows_what_its_scope_says_and_nothing_else(server, tmp_path, grant):
    server.store.create(here(SPEC.with_(name="other")))
    token = write_token(tmp_path / "token", grant, keep=True)
    headers = {"Authorization": f"Bearer {token}"}
    for call, (method, path, content) in CALLS.items():
        answer = await server.client.request(method, path, json=content, headers=headers)
        if call in ALLOWED[grant]:
            assert answer.status_code in (200, 201), answer.text
        else:
            assert answer.status_code == 403
            assert f"This token is for {grant}" in answer.json()["error"]
            assert "outcome" not in answer.json(), "that is what devices go by"
            assert server.store.standing("banner").state == "open"
            assert server.events[-1]["event"] in ("token_refused", "invite")


@pytest.mark.parametrize("token", [None, "Bearer not-the-token", "Bearer ", "Basic abc"])
@served()
async def test_without_a_token_nobody_may_and_nobody_can_fill_the_log(server, token):
    headers = {} if token is None else {"Authorization": token}
    for _ in range(5):
        for method, path, content in CALLS.values():
            answer = await server.client.request(method, path, json=content, headers=headers)
            assert answer.status_code == 401
            assert "operator's token" in answer.json()["error"]
    assert (await server.post(vote(ALICE))).status_code == 201, "nothing has changed"
    assert len(server.events) <= 11
    assert "not-the-token" not in server.log.getvalue()


def test_a_token_is_replaced_while_the_backend_that_uses_it_goes_on(tmp_path):
    """The backend has a file too, which it reads again at each call."""
    server_tokens, backend = tmp_path / "tokens", tmp_path / "backend"
    server_tokens.write_text(TOKEN + "\n")
    inviter = Grant("inviter", "banner")
    backend.write_text(write_token(server_tokens, inviter, keep=True) + "\n")
    with open_store(tmp_path / "x.db") as store:
        store.create(here(SPEC, "invite"))
        app = create_app(store, Settings(token=TOKEN, token_file=server_tokens))
        with serving_in_thread(app) as url, Operator(url, backend) as calls:
            assert len(calls.invites("banner", 2)) == 2
            old = backend.read_text().strip()
            new = write_token(server_tokens, inviter, keep=True)
            assert len(calls.invites("banner", 1)) == 1, "both are good for a while"
            backend.write_text(new + "\n")
            assert remove_token(server_tokens, old[:8]) == inviter
            assert len(calls.invites("banner", 1)) == 1
            with Operator(url, old) as late, pytest.raises(BoardRefused, match="is another"):
                late.invites("banner", 1)


@pytest.mark.parametrize(
    "line",
    ["short", "short operator", f"{TOKEN} admin", f"{TOKEN} inviter", f"{TOKEN} reader banner",
     f"{TOKEN} inviter a b", "", "   "],
)  # fmt: skip
def test_a_line_that_is_no_token_grants_nothing(line):
    assert read_tokens(line) == {}


@pytest.mark.parametrize("content", [None, b"", b"short", b"\xff" * 20])
def test_tokens_are_those_of_the_file_at_the_time_of_a_call(tmp_path, content):
    path = tmp_path / "token"
    settings = load_settings(path)
    assert grant_of(settings, settings.token) == Grant("operator")
    new = write_token(path)
    assert grant_of(settings, new)
    assert not grant_of(settings, settings.token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["token"]
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    for given in ("", "short", "\ufffd" * 20, new, settings.token):
        assert not grant_of(settings, given)


def test_without_a_file_the_token_is_the_settings_own_and_is_not_shown():
    settings = Settings(token="a-token-of-some-length")
    assert grant_of(settings, "a-token-of-some-length")
    assert not grant_of(settings, "a-token-of-some-lengti")
    assert not grant_of(settings, "ä-token")
    assert "a-token" not in repr(settings)
    assert Settings().token != Settings().token


def test_a_token_is_made_once_kept_and_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "token"
    first = load_settings(path, ["streams=10", "heartbeat=0.5", "read_rate=1e9"])
    assert len(first.token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_settings(path).token == first.token == path.read_text().strip()
    assert (first.streams, first.heartbeat, first.read_rate) == (10, 0.5, 1e9)
    assert load_settings(path, ["streams=0"]).streams == 0
    with pytest.raises(OSError, match="nowhere"):
        load_settings(tmp_path / "nowhere" / "token")


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        ("strems=10", "Use one of: body, message_body"),
        ("token=0123456789abcdef", "limit 'token' is not known"),
        ("streams", "needs a number"),
        ("streams=1.5", "needs a number"),
        ("pace=0", "must be above 0"),
        ("heartbeat=-1", "must be above 0"),
        ("heartbeat=nan", "must be above 0"),
    ],
)
def test_a_bad_limit_is_refused(tmp_path, limit, remedy):
    with pytest.raises(ServerError, match=remedy):
        load_settings(tmp_path / "token", [limit])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "  \n", "short"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(ServerError, match="can be guessed"):
        load_settings(path)
    assert path.read_text() == text


@served(public_url="https://vote.example/devote/")
async def test_links_lead_to_the_public_address(server):
    content = {"spec": SPEC.with_(name="second").to_dict()}
    opened = (await server.call("POST", "/experiments", content)).json()
    assert opened["url"] == "https://vote.example/devote/experiments/second"
    invited = (await server.call("POST", f"{URL}/invites", {"count": 1})).json()
    assert invited["url"] == "https://vote.example/devote/experiments/banner"
    with pytest.raises(ServerError, match="is not an address"):
        Settings(public_url="vote.example")


@served()
async def test_what_the_operator_does_is_logged_and_nothing_of_devices(server):
    await server.post(vote(ALICE))
    await server.call("POST", "/experiments", {"spec": SPEC.with_(name="second").to_dict()})
    for state in ("closed", "open", "archived"):
        await server.call("POST", f"{URL}/standing", {"state": state})
    revoked = {"voters": [ALICE.voter], "invites": ["a secret invite"]}
    await server.call("POST", f"{URL}/revocations", revoked)
    await server.call("POST", f"{URL}/invites", {"count": 3})
    await server.call("DELETE", "/experiments/second")
    assert [line["event"] for line in server.events] == [
        "open", "closed", "open", "archived", "revoke", "invite", "delete",
    ]  # fmt: skip
    assert {line["scope"] for line in server.events} == {"operator"}
    assert server.events[4]["devices"] == 1
    for private in (ALICE.voter, "a secret invite", TOKEN):
        assert private not in server.log.getvalue()


@served()
async def test_a_closed_experiment_is_refused_with_a_cause_that_programs_can_read(server):
    answer = await server.call("POST", f"{URL}/standing", {"state": "closed"})
    assert (answer.status_code, answer.json()) == (
        201,
        {"state": "closed", "ends": None, "delete_after": None},
    )
    answer = await server.post(vote(ALICE))
    assert answer.status_code == 403
    assert {"outcome": "refused", "cause": "closed"}.items() <= answer.json().items()
    assert (await server.client.get(f"{URL}/standing")).json()["state"] == "closed"
    for path in (URL, f"{URL}/messages", f"{URL}/tally", f"{URL}/enrolments"):
        assert (await server.client.get(path)).status_code == 200
    answer = await server.call("POST", f"{URL}/standing", {"ends": 1})
    assert (answer.status_code, "has passed" in answer.json()["error"]) == (409, True)
    assert (await server.call("POST", f"{URL}/standing", {"state": "shut"})).status_code == 422


@served()
async def test_an_archived_experiment_is_not_listed_and_is_still_there(server):
    add_page(server.app)
    await server.call("POST", f"{URL}/standing", {"state": "archived"})
    assert (await server.client.get("/experiments")).json()["experiments"] == []
    assert (await server.client.get("/views")).json() == []
    assert (await server.client.get("/views/banner")).json()["standing"] == "archived"
    assert (await server.client.get(URL)).status_code == 200
    overview = (await server.call("GET", "/overview")).json()
    assert [item["state"] for item in overview["experiments"]] == ["archived"]


@served(voters=2)
async def test_the_overview_tells_votes_answers_and_invites(server):
    for arm in (1, 2, 3):
        for voter in (ALICE, identity(2)):
            await server.post(vote(voter, arm))
    server.store.create(here(SPEC.with_(name="second"), "invite", 9))
    made = server.store.invite("second", 3)
    enrol(server.store, ALICE, "second", made[0])
    first, second = (await server.call("GET", "/overview")).json()["experiments"]
    assert (first["messages"], first["status"], first["answer"]) == (6, "agreed", ["0"])
    assert (first["enrolled"], first["revoked"], first["scheme"]) == (2, 0, "decentralized")
    assert second["invites"] == {"open": 2, "used": 1, "expired": 0}
    assert (second["players"], second["enrolment"]) == (9, "invite")


@served()
async def test_a_deleted_experiment_is_gone_everywhere(server):
    await server.post(vote(ALICE))
    await server.client.get(f"{URL}/messages")
    answer = await server.call("DELETE", URL)
    assert (answer.status_code, answer.json()) == (200, {"deleted": "banner"})
    for path in (URL, f"{URL}/messages", f"{URL}/tally", f"{URL}/standing"):
        answer = await server.client.get(path)
        assert answer.status_code == 410
        assert "was deleted by its operator" in answer.json()["error"]
    assert (await server.post(vote(ALICE))).status_code == 410
    again = await server.call("POST", "/experiments", {"spec": SPEC.to_dict()})
    assert (again.status_code, "its name stays taken" in again.json()["error"]) == (409, True)
    assert "banner" not in (await server.client.get("/metrics")).text.partition("board_")[2]


@served()
async def test_invites_expire_and_are_made_by_the_ten_thousand(server):
    server.store.create(here(SPEC.with_(name="second"), "invite"))
    asked = {"count": 10_000, "expires": 2_000_000_000}
    made = (await server.call("POST", "/experiments/second/invites", asked)).json()["invites"]
    assert len(set(made)) == 10_000
    answer = await server.call("POST", "/experiments/second/revocations", {"invites": made[:5_000]})
    assert answer.json() == {"devices": 0, "invites": 5_000, "unknown": 0}
    asked = {"count": 1, "expires": 5}
    assert (await server.call("POST", "/experiments/second/invites", asked)).status_code == 409


SURVEY = survey_spec(epsilon=0.3).with_(name="survey")


@served(opened=[here(SURVEY)])
async def test_an_option_is_withdrawn_by_name_and_the_answer_says_what_it_costs(server):
    path = "/experiments/survey/withdrawals"
    assert (await server.client.post(path, json={"arm": "1"})).status_code == 401
    answer = await server.call("POST", path, {"arm": "1"})
    assert answer.status_code == 201
    (bound,) = answer.json()["bounds"]
    assert (answer.json()["number"], bound["name"]) == (1, "proved")
    assert bound["value"] == pytest.approx(2 * SURVEY.delta)
    assert (await server.call("POST", path, {"arm": "1"})).status_code == 409
    unknown = await server.call("POST", path, {"arm": "9"})
    assert (unknown.status_code, "options are" in unknown.json()["error"]) == (422, True)
    tally = (await server.client.get("/experiments/survey/tally")).json()["tally"]
    assert tally["withdrawn"] == [1]
    (item,) = [
        each
        for each in (await server.call("GET", "/overview")).json()["experiments"]
        if each["name"] == "survey"
    ]
    assert (item["withdrawn"], item["mismatch"]) == (["1"], False)
    assert await server.metric('devote_withdrawn_options{experiment="survey"}') == 1.0


@served(opened=[here(SURVEY, log="operator")])
async def test_a_log_for_the_operator_is_read_with_a_token_and_kept_by_no_cache(server, tmp_path):
    write_token(tmp_path / "token", Grant("reader"), keep=True)
    reader = (tmp_path / "token").read_text().split()[-2]
    board, name = server.store.scope("survey").board, "/experiments/survey"
    paths = [f"{name}/messages", f"{name}/log/{board}/1", f"{name}/enrolments"]
    for path in paths:
        assert (await server.client.get(path)).status_code == 401
        headers = {"Authorization": f"Bearer {reader}"}
        answer = await server.client.get(path, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
    assert (await server.client.get(f"{name}/stream")).status_code == 401
    assert (await server.client.get(f"{name}/tally")).status_code == 200


@served(opened=[here(SURVEY, log="operator")])
async def test_a_device_reads_its_own_messages_of_an_operator_s_log(server):
    """It asks before it sends anything after a restart: it could not send at all."""
    enrol_all(server.store, [identity(1)], "survey")
    answer = Answer("survey", 1, 1, 1, 0, identity(1).voter)
    sent = identity(1).sign(answer, server.store.scope("survey"))
    assert (await server.post(sent, "survey")).status_code == 201
    board = HttpBoard("http://devote/experiments/survey", server.client)
    assert await board.sent_by(identity(1).voter) == (sent,)
    assert await board.sent_by(identity(2).voter) == ()
    with pytest.raises(BoardRefused, match="401"):
        await board.latest()


@served()
async def test_what_is_overdue_is_deleted_within_a_minute_and_the_log_says_why(server):
    now = time.time()
    server.store.change("banner", delete_after=int(now) + 5)
    await server.service.each_minute()
    assert (await server.client.get("/experiments/banner")).status_code == 200
    server.store.clock = lambda: now + 60
    server.service._minute = RateLimit(rate=1.0, burst=1.0)
    await server.service.each_minute()
    assert (await server.client.get("/experiments/banner")).status_code == 410
    assert server.events[-1] | {"time": ""} == {
        "time": "",
        "event": "delete",
        "experiment": "banner",
        "scope": "delete_after",
    }


@served(opened=[here(SURVEY)])
async def test_a_mismatch_stands_in_health_metrics_and_overview(server):
    tally = server.store.look("survey", lambda history: history.tally)
    tally.arrival.has_mismatch = True
    assert (await server.client.get("/health")).json()["mismatches"] == ["survey"]
    assert await server.metric('devote_mismatch{experiment="survey"}') == 1.0
    found = (await server.call("GET", "/overview")).json()["experiments"]
    assert {item["name"]: item["mismatch"] for item in found} == {"banner": False, "survey": True}
    assert (await server.client.get("/experiments/survey/tally")).json()["tally"][
        "mismatch"
    ] is True
