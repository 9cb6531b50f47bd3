"""The demonstration and its parts: a crowd of devices, and the processes they live in."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from tests.server.live import open_store, serving_in_thread

from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.cli.fleet import conclusion
from devote.cli.render import show
from devote.demo import crowd, demonstration
from devote.demo.crowd import run_crowd
from devote.demo.demonstration import Outcome, banner_experiment, demonstrate
from devote.demo.processes import CrowdProcess, DemonstrationError, ServerProcess, Task
from devote.device import JoinError
from devote.protocol import ExperimentSpec, SpecError, to_json
from devote.schemes import Jury, Pick, Survey, Vote
from devote.server import create_app

NAMES = ("red", "green", "blue")
SPEC = ExperimentSpec(arms=NAMES, name="banner", epsilon=1.0, scheme={"quorum": 5})
MEANS = (0.9, 0.1, 0.1)
N = 6


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        store.create(Experiment(SPEC, "invite", N))
        yield store


@pytest.fixture
def url(store):
    with serving_in_thread(create_app(store)) as address:
        yield f"{address}/experiments/banner"


def task(url, folder, invites=(), first=0, count=N):
    own = {n: invites[n] if invites else None for n in range(first, first + count)}
    return Task(url, folder, MEANS, own, seed=1)


def run(task, stop_after=120.0):
    reports, stop = [], threading.Event()
    timer = threading.Timer(stop_after, stop.set)
    timer.start()
    try:
        return run_crowd(task, reports.append, stop), reports
    finally:
        timer.cancel()


def test_a_crowd_that_is_stopped_goes_on_from_its_stores_until_all_have_the_answer(
    url, store, tmp_path
):
    invites = store.invite("banner", N)
    run(task(url, tmp_path, invites), stop_after=0.0)
    assert store.get("banner").enrolled == N
    pulls, reports = run(task(url, tmp_path, invites))
    assert reports[-1] == pulls > 0
    assert sorted(path.name for path in tmp_path.glob("device-*.db")) == [
        f"device-0000{n}.db" for n in range(N)
    ]
    assert store.get("banner").enrolled == N
    assert store.rows("banner")[0] >= 2 * SPEC.votes_needed


def test_a_crowd_gives_up_on_a_server_that_never_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(crowd, "JOIN_ATTEMPTS", 2)
    monkeypatch.setattr(crowd, "JOIN_PAUSE", 0.01)
    with pytest.raises(JoinError, match="cannot be reached"):
        run(task("http://127.0.0.1:1/experiments/banner", tmp_path, ["x"] * N, count=1))


def test_a_crowd_process_that_cannot_play_says_so(tmp_path):
    process = CrowdProcess(task("nonsense", tmp_path, count=1))
    process.task.folder.joinpath("crowd-00000.json").write_text("{}")
    process.start()
    while process.running:
        time.sleep(0.02)
    assert process.failed
    assert "KeyError: 'folder'" in process.errors


def test_a_server_process_starts_is_killed_starts_again_and_stops_well(tmp_path):
    server = ServerProcess(tmp_path)
    server.start()
    try:
        with Operator(server.address, server.token) as operator:
            operator.open(Experiment(SPEC))
            server.kill()
            server.start()
            assert [e.name for e in operator.experiments()] == ["banner"]
    finally:
        server.stop()
    assert (server.starts, server.running, server.failed) == (2, False, False)
    assert server.token not in repr(server)
    assert (tmp_path / "operator.token").stat().st_mode & 0o077 == 0


def test_a_server_process_that_does_not_start_says_why(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = ServerProcess(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(DemonstrationError, match="cannot be listened on"):
            server.start()


def test_too_few_players_are_refused_before_anything_is_started(monkeypatch):
    monkeypatch.setattr(demonstration, "ServerProcess", None)
    with pytest.raises(SpecError, match="Use at least 28 players"):
        next(demonstrate(banner_experiment(players=5)))


def an_outcome(votes, **changes):
    tally = SPEC.scheme.tally(SPEC)
    for vote in votes:
        tally.add(vote)
    fields = {"server_starts": 1, "crowd_starts": 2, "crowds": 2, "chaos": False, **changes}
    experiment = Experiment(SPEC, "invite", N)
    return Outcome(experiment, MEANS, tally, 1.0, 10, tuple(votes), **fields)


def test_the_end_of_the_story_tells_what_was_killed_and_what_an_eavesdropper_saw(capsys):
    votes = [Vote("banner", 0, arm, voter) for voter, arm in (("a", 1), ("b", 1), ("b", 2))]
    outcome = an_outcome(votes, chaos=True)
    assert outcome.busiest == tuple(votes[1:])
    assert outcome.bytes_sent == sum(len(to_json(vote)) for vote in votes)
    show(*conclusion(outcome))
    assert "over before anything could be killed" in capsys.readouterr().out
    show(*conclusion(an_outcome([], chaos=True, server_starts=3, crowd_starts=3)))
    output = capsys.readouterr().out
    assert "killed 2 times, processes full of devices 1 times" in output
    show(*conclusion(an_outcome([])))
    assert "killed" not in capsys.readouterr().out


SCHEMES = {
    "decentralized": ({"scheme": {"quorum": 10}}, 12),
    "jury": ({"scheme": Jury(seats=5, seat_after=5)}, 8),
    "survey": (
        {"epsilon": 0.5, "delta": 1e-6, "scheme": Survey(privacy=4.0, reply_after=1.0)},
        160,
    ),
}


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_demonstration_ends_with_the_best_banner_in_spite_of_chaos(scheme, monkeypatch, capsys):
    """Without chaos: ``tests/cli/test_demo.py``. A blow comes with the first message."""
    more, players = SCHEMES[scheme]
    spec = ExperimentSpec(arms=NAMES, name="banner", **more)
    monkeypatch.setattr(demonstration, "FIRST_BLOW", 1e9 if scheme == "decentralized" else 0.2)
    *happenings, outcome = demonstrate(
        Experiment(spec, "invite", players), means=MEANS, chaos=True, seed=3
    )
    assert (outcome.status, outcome.tally.answer) == ("agreed", (0,))
    assert outcome.pulls >= len(outcome.messages)
    signed = {(m.voter, type(m), getattr(m, "arm", None)) for m in outcome.messages}
    assert len(signed) == len(outcome.messages), "none is doubled"
    kinds = [happening.kind for happening in happenings]
    assert kinds[0] == "open"
    assert outcome.server_kills + outcome.crowd_kills == kinds.count("chaos") >= 1
    show(*conclusion(outcome))
    output = capsys.readouterr().out
    texts = " ".join(happening.text for happening in happenings)
    if scheme == "decentralized":
        assert kinds.count("out") == 2
        assert all(h.text.endswith("votes") for h in happenings if h.kind == "out")
    elif scheme == "jury":
        picks = sum(isinstance(message, Pick) for message in outcome.messages)
        assert spec.votes_needed <= picks <= 5
        assert "red is the answer, picks: " in texts
        assert "pick 'red'" in output
    else:
        assert "red is the answer, answers: " in texts
        assert "which may be noise" in output
        assert "estimated" in output


def test_a_survey_is_shown_with_many_devices_that_answer_soon(capsys):
    experiment = banner_experiment(Survey(reply_after=2.0))
    assert (experiment.players, experiment.spec.algorithm) == (3_000, "betting")
    assert demonstration.quickly("survey", ["reply_after=9"])[-1] == "reply_after=9"
    assert demonstration.quickly("jury", []) == []


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_blows_to_the_server_and_to_devices_change_nothing(tmp_path):
    """The demonstration's own blows, one after the other, at random moments."""
    rng, server, crowds = random.Random(2), ServerProcess(tmp_path), []
    server.start()
    try:
        with Operator(server.address, server.token) as operator:
            url = operator.open(Experiment(SPEC, "invite", N))
            invites = operator.invites("banner", N)
            crowds = [CrowdProcess(task(url, tmp_path, invites, first, 3)) for first in (0, 3)]
            for process in crowds:
                process.start()
            for _ in range(3):
                time.sleep(rng.random())
                server.kill()
                victim = rng.choice(crowds)
                before = victim.pulls
                victim.kill()
                server.start()
                victim.start()
                assert victim.pulls >= before
            until = time.monotonic() + 200
            while any(process.running for process in crowds) and time.monotonic() < until:
                time.sleep(0.05)
            assert not any(process.failed for process in crowds), crowds[0].errors
            messages = [message for _, message in operator.messages("banner", 3)]
    finally:
        for process in crowds:
            process.kill()
        server.stop()
    assert len(set(messages)) == len(messages)
    assert an_outcome(messages).tally.answer == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_nothing_of_a_demonstration_outlives_its_terminal(number, tmp_path):
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-m", "devote", "demo", "--players", "30"]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as demo:
        line = next(line for line in demo.stdout if "http://" in line)
        address = re.search(r"http://[\d.:]+", line).group(0)
        assert httpx.get(f"{address}/health").status_code == 200
        demo.send_signal(number)
        demo.communicate(timeout=60)
    assert demo.returncode != 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health")
    assert list(tmp_path.iterdir()) == []
