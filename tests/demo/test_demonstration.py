"""The demonstration and its parts: a crowd of devices, and the processes they live in."""

import random
import socket
import threading
import time

import pytest
from devote.cli.demo_view import DemoView
from devote.demo.task import Task
from tests.server.live import open_store, serving_in_thread

from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.demo import crowd, demonstration
from devote.demo.crowd import run_crowd
from devote.demo.demonstration import Outcome, banner_experiment, run_demonstration
from devote.demo.processes import CrowdProcess, DemonstrationError, ServerProcess
from devote.device import JoinError
from devote.protocol import ExperimentSpec, SpecError, to_json
from devote.schemes import Jury, Pick, Survey, Vote
from devote.server import create_app

SPEC = ExperimentSpec(arms=3, name="banner", epsilon=1.0, scheme={"quorum": 5})
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


def run(task, stop_after=None):
    reports = []
    stop = threading.Event()
    timer = threading.Timer(120.0 if stop_after is None else stop_after, stop.set)
    timer.start()
    try:
        return run_crowd(task, reports.append, stop), reports
    finally:
        timer.cancel()


def test_a_crowd_plays_until_every_device_has_the_answer(url, store, tmp_path):
    pulls, reports = run(task(url, tmp_path, store.invite("banner", N)))
    assert reports[-1] == pulls > 0
    assert sorted(path.name for path in tmp_path.glob("device-*.db")) == [
        f"device-0000{n}.db" for n in range(N)
    ]
    assert store.get("banner").enrolled == N
    assert store.rows("banner")[0] >= 2 * SPEC.votes_needed


def test_a_crowd_that_is_stopped_goes_on_from_its_stores(url, store, tmp_path):
    invites = store.invite("banner", N)
    run(task(url, tmp_path, invites), stop_after=0.0)
    with store.database.read() as db:
        assert db.execute("SELECT count(*), sum(used) FROM invites").fetchone() == (N, N)
    assert store.get("banner").enrolled == N
    pulls, _ = run(task(url, tmp_path, invites))
    assert pulls > 0
    assert store.get("banner").enrolled == N


def test_a_crowd_gives_up_on_a_server_that_never_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(crowd, "JOIN_ATTEMPTS", 2)
    monkeypatch.setattr(crowd, "JOIN_PAUSE", 0.01)
    with pytest.raises(JoinError, match="cannot be reached"):
        run(task("http://127.0.0.1:1/experiments/banner", tmp_path, ["x"] * N, count=1))


def test_a_crowd_process_that_is_killed_goes_on_and_all_its_pulls_are_counted(url, store, tmp_path):
    invites = store.invite("banner", N)
    # Alone they are fewer than the quorum: the first cannot end before it is killed.
    halves = [CrowdProcess(task(url, tmp_path, invites, n, N // 2)) for n in (0, N // 2)]
    killed = halves[0]
    killed.start()
    while not (killed.pulls and store.rows("banner")[0]) and killed.running:
        time.sleep(0.01)
    assert killed.running
    killed.kill()
    assert not killed.running
    before = killed.pulls
    until = time.monotonic() + 120
    try:
        for process in halves:
            process.start()
        while any(process.running for process in halves) and time.monotonic() < until:
            time.sleep(0.02)
        assert not any(process.failed for process in halves), (tmp_path / "crowd.log").read_text()
        assert killed.starts == 2
        assert killed.pulls >= before > 0
    finally:
        for process in halves:
            process.kill()
    messages = [m for _, m in _read(url)]
    assert tally_of(messages).answer == (0,)


def _read(url):
    with Operator(url.partition("/experiments")[0]) as operator:
        return operator.messages("banner", 3)


def test_a_crowd_process_that_cannot_play_says_so(tmp_path):
    process = CrowdProcess(task("nonsense", tmp_path, count=1))
    process.task.folder.joinpath("crowd-00000.json").write_text("{}")
    process.start()
    while process.running:
        time.sleep(0.02)
    assert process.failed
    assert "KeyError: 'folder'" in (tmp_path / "crowd.log").read_text()


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
    assert server.starts == 2
    assert server._process.returncode == 0
    assert server.token not in repr(server)
    assert (tmp_path / "operator.token").stat().st_mode & 0o077 == 0
    server.stop()


def test_a_server_process_that_does_not_start_says_why(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = ServerProcess(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(DemonstrationError, match="cannot be listened on"):
            server.start()


def test_too_few_players_are_refused_before_anything_is_started(monkeypatch):
    monkeypatch.setattr(demonstration, "ServerProcess", None)
    with pytest.raises(SpecError, match="Use at least 28 players"):
        run_demonstration(print, banner_experiment(players=5))


def tally_of(messages, spec=SPEC):
    tally = spec.scheme.tally(spec)
    for message in messages:
        tally.add(message)
    return tally


def an_outcome(votes, **changes):
    fields = {
        "experiment": Experiment(SPEC, "invite", N),
        "means": MEANS,
        "tally": tally_of(votes),
        "seconds": 1.0,
        "pulls": 10,
        "messages": tuple(votes),
        "server_starts": 1,
        "crowd_starts": 2,
        "crowds": 2,
        "chaos": False,
    }
    return Outcome(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chaos": True}, "over before anything could be killed"),
        (
            {"chaos": True, "server_starts": 3, "crowd_starts": 3},
            "killed 2 times, processes full of devices 1 times",
        ),
    ],
)
def test_the_end_of_the_story_tells_what_was_killed(capsys, changes, said):
    DemoView(Experiment(SPEC, "invite", N), quiet=False).conclude(an_outcome([], **changes))
    assert said in capsys.readouterr().out
    DemoView(Experiment(SPEC, "invite", N), quiet=False).conclude(an_outcome([]))
    assert "killed" not in capsys.readouterr().out


def test_an_outcome_tells_what_an_eavesdropper_saw():
    votes = [Vote("banner", 0, arm, voter) for voter, arm in (("a", 1), ("b", 1), ("b", 2))]
    outcome = an_outcome(votes)
    assert outcome.busiest == tuple(votes[1:])
    assert outcome.bytes_sent == sum(len(to_json(vote)) for vote in votes)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_a_demonstration_ends_with_the_best_banner_in_spite_of_chaos(monkeypatch):
    """Without chaos, votes and jury: ``tests/cli/test_fleet_commands.py``."""
    spec = ExperimentSpec(arms=("red", "green", "blue"), name="banner", scheme={"quorum": 10})
    told = []
    monkeypatch.setattr(demonstration, "FIRST_BLOW", 0.2)
    monkeypatch.setattr(demonstration, "BETWEEN_BLOWS", 0.5)
    experiment = Experiment(spec, "invite", 12)
    outcome = run_demonstration(told.append, experiment, means=MEANS, chaos=True, seed=3)
    assert outcome.tally.answer == (0,)
    assert outcome.pulls > 0
    assert len({(m.voter, m.arm) for m in outcome.messages}) == len(outcome.messages)
    kinds = [happening.kind for happening in told]
    assert kinds[0] == "open"
    assert kinds.count("out") == 2
    assert all(h.text.endswith("votes") for h in told if h.kind == "out")
    assert "chaos" in kinds
    assert outcome.server_starts + outcome.crowd_starts == 3 + kinds.count("chaos")


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_a_demonstration_of_a_jury_ends_with_its_verdict_in_spite_of_chaos(capsys):
    jury = Jury(seats=5, seat_after=5)
    spec = ExperimentSpec(arms=("red", "green", "blue"), name="banner", scheme=jury)
    experiment = Experiment(spec, "invite", 8)
    with DemoView(experiment, quiet=False) as view:
        outcome = run_demonstration(view.tell, experiment, means=MEANS, chaos=True, seed=3)
        view.conclude(outcome)
    assert (outcome.status, outcome.tally.answer) == ("agreed", (0,))
    picks = sum(isinstance(message, Pick) for message in outcome.messages)
    assert spec.votes_needed <= picks <= 5
    said = capsys.readouterr().out
    assert "red is the answer, picks: " in said
    assert "pick 'red'" in said


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("chaos", [False, True])
def test_a_demonstration_of_a_survey_ends_with_its_answer_chaos_or_not(chaos, capsys):
    spec = ExperimentSpec(
        arms=("red", "green", "blue"),
        name="banner",
        epsilon=0.5,
        delta=1e-6,
        scheme=Survey(privacy=4.0, reply_after=1.0),
    )
    experiment = Experiment(spec, "invite", 160)
    with DemoView(experiment, quiet=False) as view:
        outcome = run_demonstration(view.tell, experiment, means=MEANS, chaos=chaos, seed=3)
        view.conclude(outcome)
    assert (outcome.status, outcome.tally.answer) == ("agreed", (0,))
    assert outcome.pulls >= len(outcome.messages)
    assert outcome.server_kills + outcome.crowd_kills >= chaos
    assert len({message.voter for message in outcome.messages}) == len(outcome.messages)
    said = capsys.readouterr().out
    assert "red is the answer, answers: " in said
    assert "which may be noise" in said
    assert "estimated" in said


def test_a_survey_is_shown_with_many_devices_that_answer_soon():
    experiment = banner_experiment(Survey(reply_after=2.0))
    assert (experiment.players, experiment.spec.algorithm) == (3_000, "betting")
    assert demonstration.quickly("survey", ["reply_after=9"])[-1] == "reply_after=9"
    assert demonstration.quickly("jury", []) == []


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_chaos_strikes_at_the_first_votes_however_quick_the_run_is(monkeypatch):
    monkeypatch.setattr(demonstration, "FIRST_BLOW", 1e9)
    spec = ExperimentSpec(arms=("red", "green", "blue"), name="banner", scheme={"quorum": 10})
    told = []
    experiment = Experiment(spec, "invite", 12)
    outcome = run_demonstration(told.append, experiment, means=MEANS, chaos=True)
    assert outcome.tally.answer == (0,)
    assert outcome.server_kills + outcome.crowd_kills >= 1
    assert outcome.server_kills + outcome.crowd_kills == [h.kind for h in told].count("chaos")


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_blows_to_the_server_and_to_devices_change_nothing(tmp_path):
    """The demonstration's own blows, one after the other, at random moments."""
    rng = random.Random(2)
    server = ServerProcess(tmp_path)
    server.start()
    crowds = []
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
            victim.kill()
            server.start()
            victim.start()
        until = time.monotonic() + 200
        while any(process.running for process in crowds) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(process.failed for process in crowds)
        messages = [message for _, message in _read(url)]
    finally:
        for process in crowds:
            process.kill()
        server.stop()
    assert len(set(messages)) == len(messages)
    assert tally_of(messages).answer == (0,)
