"""A scheme in one file from outside runs wherever a scheme can run, without a change under src.

Every check of ``tests/contracts/test_scheme_contract.py`` runs on it too.
"""

import random
from contextlib import ExitStack

import httpx
import numpy as np
from examples.scheme import first_to_finish
from examples.scheme.first_to_finish import Finished, FirstToFinish
from tests.boards.local import here
from tests.boards.memory import MemoryBoard
from tests.device.fault_run import drive
from tests.device.worlds import device as new_device
from tests.server.live import open_store, serving_in_thread

from devote.boards.identity import Identity
from devote.boards.operator import Operator
from devote.device import Device
from devote.device.sync import sync_once
from devote.page.page import add_page
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.schemes import SCHEMES
from devote.server import create_app
from devote.simulator import Scenario, load_results, run_players, run_sweep, simulate
from devote.simulator.parts import PARTS

SPEC = ExperimentSpec(arms=3, name="race", epsilon=0.5, scheme="first_to_finish")
TOY = Problem("toy", (0.9, 0.4, 0.1))


def test_it_is_known_by_its_name_as_any_other():
    assert SCHEMES["first_to_finish"] is FirstToFinish is first_to_finish.FirstToFinish
    assert SPEC.scheme == FirstToFinish()
    assert SPEC.eta == 0.01
    assert ExperimentSpec.from_json(SPEC.to_json()) == SPEC


def test_in_the_slow_simulator_the_first_to_finish_decides():
    run = run_players(SPEC, TOY, 6, seed=1, trace=True)
    assert (run.status, run.winners, run.epsilon_optimal) == ("agreed", (0,), True)
    finished = [event for event in run.trace if event.kind == "finished"]
    assert len(finished) == run.broadcasts == 1
    assert run.samples == finished[0].time + 1 <= run.samples_until_all_know
    assert {event.arm for event in run.trace if event.kind == "elimination"} == {1, 2}
    first = run.first_vote[finished[0].player]
    assert first > 0
    assert sum(pulls > 0 for pulls in run.first_vote) == 1


def test_simulate_takes_the_slow_path_where_there_is_no_compiled_part(tmp_path, monkeypatch):
    monkeypatch.delitem(PARTS, "first_to_finish", raising=False)
    result = simulate(SPEC, TOY, 6, trials=3, seed=1)
    slow = [run_players(SPEC, TOY, 6, seed=1, trial=trial) for trial in range(3)]
    assert result.samples_until_all_know.tolist() == [run.samples_until_all_know for run in slow]
    assert result.samples.tolist() == [run.samples for run in slow]
    assert result.answers == (0, 0, 0)
    [again] = load_results(result.save(tmp_path / "race.jsonl"))
    assert again.scenario == result.scenario


def test_a_sweep_runs_it_beside_the_others_and_its_file_is_read_back(tmp_path):
    scenarios = [Scenario(SPEC, TOY, n) for n in (2, 4)]
    results = run_sweep(scenarios, trials=2, workers=1, results=tmp_path / "sweep.jsonl")
    for loaded, result in zip(load_results(tmp_path / "sweep.jsonl"), results, strict=True):
        assert loaded.scenario == result.scenario
        np.testing.assert_array_equal(loaded.samples_until_all_know, result.samples_until_all_know)


def test_the_answer_is_the_first_message_on_the_board():
    tally = SPEC.scheme.tally(SPEC)
    for arm, voter in ((2, "b"), (0, "a"), (2, "b"), (0, "c")):
        tally.add(Finished("race", arm, voter))
    assert (tally.status(), tally.answer, tally.shared) == ("agreed", (2,), (2,))
    assert tally.view()["counts"] == [2, 0, 1]


MEANS = (0.9, 0.4, 0.1)


def play_in_turns(devices, sync, seed=1):
    """Users play the devices in turn until all have the answer."""
    users = random.Random(seed)
    for _ in range(3000):
        for device in devices:
            choice = device.choose()
            device.reward(float(users.random() < MEANS[choice]), choice)
            sync(device)
        if all(device.best() is not None for device in devices):
            return
    raise AssertionError


def check_ending(devices, messages):
    assert messages
    first = messages[0].arm
    for device in devices:
        status = device.status()
        assert (status.state, status.answer, device.best()) == ("agreed", (first,), first)
        assert not status.degraded
        assert not status.waiting
        device.choose()
        assert device.status().remaining == (first,)
    assert sum(len(device.status().sent) for device in devices) == len(messages)


def check_page(shown, messages):
    """What the page draws: the counts of the scheme's own tally, and its answer."""
    assert (shown["scheme"], shown["status"]) == ("first_to_finish", "agreed")
    assert shown["answer"] == [SPEC.arm_names[messages[0].arm]]
    counts = [sum(m.arm == k for m in messages) for k in range(3)]
    assert [arm["count"] for arm in shown["arms"]] == counts


def test_devices_on_a_board_in_memory_follow_the_first_to_finish():
    board = MemoryBoard(SPEC)
    devices = [new_device(Identity.generate(), SPEC) for _ in range(4)]
    play_in_turns(devices, lambda core: drive(sync_once(core, board)))
    for core in devices:
        assert drive(sync_once(core, board))
    check_ending(devices, [posted.envelope.message for posted in board.now().posted])
    for core in devices:
        core.close()


def test_devices_over_http_follow_the_first_to_finish(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        store.create(here(SPEC, "invite", 3))
        invites = store.invite("race", 3)
        app = create_app(store)
        add_page(app)
        with serving_in_thread(app) as address, ExitStack() as stack:
            url = f"{address}/experiments/race"
            devices = [
                stack.enter_context(Device.join(url, store=tmp_path / f"{n}.db", invite=invite))
                for n, invite in enumerate(invites)
            ]
            play_in_turns(
                devices, lambda device: device.sync() if device.status().waiting else None
            )
            for device in devices:
                assert device.sync()
            with Operator(address) as operator:
                messages = [message for _, message in operator.messages("race", 3)]
            check_ending(devices, messages)
            check_page(httpx.get(f"{address}/views/race").json(), messages)
