import io
import json

from rich.console import Console

from devote.cli.lab import picture, watcher
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Scenario, simulate
from devote.simulator.frames import frames

SMALL = ("watch", "--means", ".9,.1,.1", "--players", 32)


def test_where_nobody_watches_each_event_is_a_line(devote):
    ran = devote(*SMALL)
    assert ran.code == 0
    assert ran.out.count("votes against arm") == 56
    assert ran.out.count("eliminated") == 2
    assert "(28/28)" in ran.out
    assert ran.out.splitlines()[-1].endswith("agreed: every player holds arm 0")


def test_json_is_one_object_per_event_and_one_for_the_end(devote):
    rows = [json.loads(line) for line in devote(*SMALL, "--json").out.splitlines()]
    assert [row["kind"] for row in rows].count("vote") == 56
    assert rows[-1]["kind"] == "end"
    assert rows[-1]["winners"] == [0]


def test_a_stall_is_said(devote):
    ran = devote("watch", "--means", ".7,.7", "--players", 32)
    assert "stalled: players are split over arms" in ran.out.splitlines()[-1]


def test_a_jury_takes_its_own_parameters(devote):
    jury = ("watch", "--means", ".9,.1", "--players", 60, "--scheme", "jury", "--json")
    usual, early = (
        [json.loads(line) for line in devote(*jury, "--set", f"seat_after={n}").out.splitlines()]
        for n in (50, 5)
    )
    first = [next(row["time"] for row in run if row["kind"] == "claim") for run in (usual, early)]
    assert first[1] < first[0]
    wider = devote(*jury, "--set", "seats=46").out
    assert wider.count('"claim"') == 46


def test_a_jurys_events_are_told_in_its_own_words(devote):
    ran = devote("watch", "--means", ".9,.1", "--players", 60, "--scheme", "jury")
    assert ran.out.count("claims a seat") == 29
    assert "picks arm 0 (10/10)" in ran.out


def test_it_is_the_run_that_simulate_would_make(devote):
    spec = ExperimentSpec(arms=3)
    problem = Problem("toy", [0.9, 0.1, 0.1])
    result = simulate(spec, problem, 32, trials=1, trace=True)
    seen = list(frames(Scenario(spec, problem, 32), step=100))
    assert seen[-1].samples == result.samples_until_all_know[0]
    assert [event for frame in seen for event in frame.events] == list(result.traces[0])


def test_speed_limits_the_pulls_per_second(devote, monkeypatch):
    slept = []
    monkeypatch.setattr("devote.cli.lab.time.sleep", slept.append)
    monkeypatch.setattr("devote.cli.lab.time.monotonic", lambda: 0.0)
    devote(*SMALL, "--speed", 2000, "--horizon", 1000)
    assert len(slept) == 9


def test_the_screen_shows_arms_votes_and_players_done():
    for scheme in ("decentralized", "isolated", "jury"):
        spec = ExperimentSpec(arms=3, scheme=scheme)
        scenario = Scenario(spec, Problem("toy", [0.9, 0.1, 0.1]), 32)
        out = io.StringIO()
        with watcher(scenario, Console(file=out, force_terminal=True, width=100)) as show:
            for frame in frames(scenario, step=500):
                show(frame)
        assert "players down to one arm" in out.getvalue()
        assert "every player holds arm 0" in out.getvalue()


def test_the_screen_shows_an_arm_that_remains_but_is_not_asked_about():
    spec = ExperimentSpec(arms=4, epsilon=0.2, scheme={"name": "survey", "privacy": 4.0})
    scenario = Scenario(spec, Problem("toy", [0.9, 0.1, 0.5, 0.8]), 900)
    waits = [frame for frame in frames(scenario, step=10) if frame.asked != frame.shared]
    assert waits
    for frame in waits:
        out = io.StringIO()
        Console(file=out, width=100).print(picture(scenario, frame))
        n_waiting = sum(frame.shared) - sum(frame.asked)
        assert out.getvalue().count("not asked about now") == n_waiting > 0
