"""The page that a server shows to people, and the views it reads.

What an operator does there is a call of the server's own, with the operator's token; the page adds
the planner's answer to a draft, which needs the token too.

A view is a function of the log, so that anybody can check it.

The page is a few small files with no assets from elsewhere, and its addresses are relative, so
that it works below a path of a reverse proxy too.
"""

import json
from dataclasses import asdict
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from devote.boards.board import Experiment, ExperimentState
from devote.boards.store import History
from devote.page.advice import draft_lines, first_line, meaning, present, so_far, warnings
from devote.protocol import Case, ExperimentSpec, Guarantees, Tally
from devote.protocol.messages import KINDS
from devote.protocol.scheme import Estimates
from devote.server.days import Days
from devote.server.devices import event_stream
from devote.server.http import (
    NO_CACHE,
    NO_STORE,
    OBJECT,
    Endpoint,
    Field,
    Handler,
    allow,
    name_of,
    optional,
    read_body,
    send,
    whole_field,
)
from devote.server.operator import read_experiment
from devote.server.service import Document, Service, Shared


def summarize(experiment: Experiment, history: History) -> dict[str, Any]:
    """What the list of experiments shows; the likeliest answer comes first."""
    spec, tally, counted = experiment.spec, history.tally, history.tally.view()
    kind, text = first_line(experiment, tally, counted)
    return {
        "advice": {"kind": kind, "text": text},
        "so_far": so_far(experiment, tally, counted),
        "name": spec.name,
        "options": spec.n_arms,
        "players": experiment.players,
        "enrolled": experiment.enrolled,
        "number": history.number,
        "status": history.tally.status(experiment.players),
        "open": len(history.tally.shared),
        "answer": [spec.arm_names[k] for k in history.tally.answer],
        "decided": _decided(history.tally.public()),
    }


def _decided(public: dict[str, Any]) -> list[int] | None:
    """How many segments have their answer, and of how many; None if there are none."""
    rows = public.get("segments")
    return rows and [sum(row["status"] == "agreed" for row in rows), len(rows)]


def view(experiment: Experiment, history: History) -> dict[str, Any]:
    """Everything the page shows, as JSON values."""
    spec, tally = experiment.spec, history.tally
    counted = tally.view()
    summary = summarize(experiment, history)
    guarantees = _guarantees(spec, tally.case(experiment.players))
    is_open = summary["status"] == "open"
    # While an option has no answer at all, none leads.
    has_few = counted.get("answers_needed", 0) is None
    leader = counted.get("leader") if is_open and not has_few else None
    segments = [
        {**row, "estimates": _in_thousandths(row["estimates"])}
        for row in counted.get("segments", ())
    ]
    settled = tally.answer[0] if summary["status"] == "agreed" and not segments else None
    won = {settled, *(row["answer"] for row in segments)} - {None}
    if tally.mismatch:  # then nothing is claimed
        won, settled, leader = set(), None, None
        counted = {**counted, "progress": [], "states": ["not proved"] * spec.n_arms}
    estimates, differences = tally.estimates(), _differences(experiment, tally)
    return {
        **summary,
        "leader": None if leader is None else spec.arm_names[leader],
        "algorithm": spec.algorithm,
        "scheme": spec.scheme.name,
        "epsilon": spec.epsilon,
        "heading": counted["heading"],
        "needed": counted["needed"],
        "facts": counted["facts"],
        "notes": counted.get("notes", _rule(counted)),
        "progress": counted.get("progress", []),
        "arms": [
            {
                "name": name,
                "count": counted["counts"][k] if counted["counts"] else None,
                "out_at": None if tally.mismatch else history.out_at.get(k),
                "answer": k in won,
                "leads": k == leader,
                "state": "the answer" if k == settled else _state(counted, k, history),
                "difference": differences[k],
            }
            for k, name in enumerate(spec.arm_names)
        ],
        "baseline": experiment.baseline,
        "log": experiment.log,
        "warnings": warnings(experiment, tally),
        "meaning": meaning(experiment, tally, guarantees.bounds),
        "estimates": _in_thousandths(estimates),
        "segments": segments,
        "timeline": _timeline(spec, history),
        "bounds": [asdict(bound) for bound in guarantees.bounds],
        "privacy": next((asdict(p) for p in guarantees.promises if p.name == "privacy"), None),
        "device": _device(spec, history) if experiment.log == "public" else None,
    }


def _differences(experiment: Experiment, tally: Tally) -> list[str | None]:
    """By how much each option is better than the current one, in percentage points."""
    names = experiment.spec.arm_names
    rows = tally.differences(names.index(experiment.baseline)) if experiment.baseline else None
    texts: list[str | None] = []
    for name, row in zip(names, rows or [None] * len(names), strict=True):
        text = None
        if row is not None:
            digits = 2 if max(map(abs, row)) < 0.1 else 1 if max(map(abs, row)) < 0.5 else 0
            mean, low, high = (f"{100.0 * value + 0.0:+.{digits}f}" for value in row)
            text = f"{mean} points ({low} to {high})"
        texts.append("the current option" if name == experiment.baseline else text)
    return texts


def _rule(counted: dict[str, Any]) -> list[str]:
    if counted["needed"] is None:
        return []
    return [f"An option is decided by {counted['needed']} {counted['heading']}."]


def _state(counted: dict[str, Any], arm: int, history: History) -> str:
    if states := counted.get("states"):
        return str(states[arm])
    return f"out at {history.out_at[arm]}" if arm in history.out_at else "still in"


def _in_thousandths(estimates: Estimates | None) -> list[list[int] | None] | None:
    """Mean, low end and high end of each arm, as a picture needs them."""
    if estimates is None:
        return None
    return [None if row is None else [round(1000 * end) for end in row] for row in estimates]


def _timeline(spec: ExperimentSpec, history: History) -> dict[str, Any]:
    """The order of messages; of options that are estimated, how the estimates came about."""
    points = history.course.points
    is_estimated = history.tally.estimates() is not None
    return {
        "step": history.timeline.step,
        "lanes": _lanes(spec, history, skip_arms=is_estimated),
        "numbers": [number for number, _ in points],
        "courses": [_in_thousandths(estimates) for _, estimates in points],
    }


def _lanes(spec: ExperimentSpec, history: History, *, skip_arms: bool) -> list[dict[str, Any]]:
    """One lane per option for each kind of message about an option, and one per other kind."""
    kinds = [kind for kind in KINDS.values() if kind.form in spec.scheme.about.messages]
    about_arms = [kind for kind in kinds if "arm" in kind.numbers]
    unused = [kind for kind in about_arms if not _is_used(spec, history, kind.name)]
    if len(unused) < len(about_arms):
        kinds = [kind for kind in kinds if kind not in unused]
        about_arms = [kind for kind in about_arms if kind not in unused]
    lanes = []
    for kind in sorted(kinds, key=lambda kind: "arm" not in kind.numbers):
        if skip_arms and kind in about_arms:
            continue
        for arm in range(spec.n_arms) if kind in about_arms else (None,):
            name = f"{kind.name}s" if arm is None else spec.arm_names[arm]
            if arm is not None and len(about_arms) > 1:
                name = f"{name}: {kind.name}s"
            marks = history.timeline.lane(kind.name, arm)
            if marks or arm is not None:
                lanes.append({"name": name, "arm": arm, "marks": marks})
    return lanes


def _is_used(spec: ExperimentSpec, history: History, kind: str) -> bool:
    return any(history.timeline.lane(kind, arm) for arm in range(spec.n_arms))


@lru_cache(maxsize=1024)
def _guarantees(spec: ExperimentSpec, case: Case) -> Guarantees:
    return spec.scheme.guarantees(case)


def _device(spec: ExperimentSpec, history: History) -> dict[str, Any] | None:
    """All that the first device on the board has sent, to the letter, and the most that any has.

    It stays the same device: one that changed with every message could not be read.
    """
    if not history.first:
        return None
    return {
        "voter": history.first,
        "count": history.sent[history.first],
        "most": history.most,
        "messages": [_sent(spec, *sent) for sent in history.latest],
    }


def _sent(spec: ExperimentSpec, text: str, signature: str) -> dict[str, Any]:
    message = json.loads(text)
    about = spec.arm_names[message["arm"]] if "arm" in message else None
    sent = {"message": message, "signature": signature}
    return {"kind": message["type"].replace("_", " "), "about": about, "sent": sent}


EVERY = 0.2
"""Seconds between two views, however many look and however fast messages come."""

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SCRIPTS = (
    "page.js", "experiment.js", "arms.js", "segments.js", "timeline.js", "list.js", "operate.js",
    "dom.js",
)  # fmt: skip
FILES = ("page.html", "page.css", *SCRIPTS, "icon.svg")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    **NO_CACHE,
}


def add_page(app: Starlette) -> None:
    """Serve the page at the root of a server, and its views below ``/views``."""
    service: Service = app.state.service
    every = Shared(partial(_every_view, service), every=EVERY)
    single: dict[str, Shared[Document]] = {}

    async def read_view(service: Service, request: Request) -> Response:
        name = name_of(request)
        await service.reading(name)
        shared = single.setdefault(name, Shared(partial(_one_view, service, name), every=EVERY))
        document = await shared.get()
        service.charge_read(name, len(document.body))
        return send(request, document, HEADERS)

    async def read_stream(service: Service, request: Request) -> Response:
        name = name_of(request)
        board = await service.reading(name)
        await board.catch_up()
        return await event_stream(service, name, board.numbers(EVERY))

    async def read_views(service: Service, request: Request) -> Response:
        return send(request, await every.get(), HEADERS)

    routes: dict[str, Handler] = {
        "/views": read_views,
        "/views/{name}": read_view,
        "/views/{name}/stream": read_stream,
    }
    for name in FILES:
        body = files("devote.page").joinpath("static", name).read_bytes()
        path = "/" if name == "page.html" else f"/{name}"
        routes[path] = _file(_document(body), MEDIA_TYPES[name.rpartition(".")[2]])
    app.router.routes.append(Route("/plan", Endpoint(service, "/plan", {"POST": read_plan})))
    for path, handler in routes.items():
        app.router.routes.append(Route(path, Endpoint(service, path, {"GET": handler})))


async def _one_view(service: Service, name: str) -> Document:
    store = service.store
    experiment = await service.call(store.get, name)
    days = service.days[name]
    state, moment = await service.call(store.standing, name), store.clock()

    def draw(history: History) -> dict[str, Any]:
        days.note(moment, history.number, experiment.enrolled)
        now = present(history.tally.view(), state, moment, days)
        return {**view(experiment, history), "now": now, "standing": state.words}

    return _json(await service.call(store.look, name, draw))


async def _every_view(service: Service) -> Document:
    summaries, store = [], service.store
    for experiment in await service.listed():
        state = await service.call(store.standing, experiment.name)
        draw = partial(_entry, experiment, state, store.clock(), service.days[experiment.name])
        summaries.append(await service.call(store.look, experiment.name, draw))
    return _json(summaries)


def _entry(
    experiment: Experiment, state: ExperimentState, moment: float, days: Days, history: History
) -> dict[str, Any]:
    now = present(history.tally.view(), state, moment, days)
    return {**summarize(experiment, history), "now": now}


DRAFT = {
    "spec": OBJECT,
    "visitors": optional(whole_field(1)),
    "rate": Field(
        "must be a number from 0 to 1",
        lambda value: type(value) in (int, float) and 0 <= value <= 1,
    ),
}


async def read_plan(service: Service, request: Request) -> Response:
    """The planner's answer to a draft of a survey, by formulas; nothing is opened."""
    allow(service, request)
    given = await read_body(service, request, DRAFT, service.settings.body)
    experiment = read_experiment({"spec": given["spec"]}, service.settings)
    lines = await service.call(draft_lines, experiment, given["rate"], given.get("visitors"))
    return send(request, _json({"lines": lines}), NO_STORE)


def _json(content: Any) -> Document:
    return _document(json.dumps(content, separators=(",", ":")).encode())


def _document(body: bytes) -> Document:
    return Document(body, blake2b(body, digest_size=12).hexdigest())


def _file(document: Document, kind: str) -> Handler:
    async def read(service: Service, request: Request) -> Response:
        return send(request, document, {**HEADERS, "Content-Type": kind})

    return read
