"""The provider in Python: the scenarios of the standard, and what only a backend does."""

import asyncio
import socket
import threading
import time
from pathlib import Path

import pytest
from openfeature.evaluation_context import EvaluationContext
from openfeature.event import ProviderEvent
from openfeature.exception import ErrorCode, OpenFeatureError
from openfeature.flag_evaluation import Reason
from openfeature.provider import ProviderStatus
from openfeature.track import TrackingEventDetails
from tests.openfeature.flags import flags, open_flags
from tests.openfeature.steps import SCENARIOS, TARGET, step
from tests.tools import free_port, until

from devote.boards.board import Experiment
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.device.sync import Pace
from devote.openfeature import DevoteProvider, Flag
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Survey
from openfeature import api

DEADLINE = 30.0
FLAGS = {name: Flag(**meaning) for name, meaning in flags().items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    process = ServerProcess(tmp_path_factory.mktemp("server"))
    process.start()
    try:
        with Operator(process.address, process.token) as process.operator:
            open_flags(process.operator)
            yield process
    finally:
        process.stop()


class World:
    """A program that uses the Python SDK."""

    def __init__(self, server, folder: Path) -> None:
        self.server, self.folder, self.user = server, folder, TARGET
        self.seen: dict[ProviderEvent, threading.Event] = {}
        self.client = api.get_client("devote-test")

    def provider(self, state):
        address = {"error": f"http://127.0.0.1:{free_port()}"}.get(state, self.server.address)
        provider = DevoteProvider(address, self.folder, flags=FLAGS, within=DEADLINE)
        if state == "fatal":
            provider = DevoteProvider(f"{address}/metrics?", self.folder)
        if state == "not ready":
            provider.initialize = lambda context: threading.Event().wait(0.5)
            api.set_provider(provider, "devote-test")
            return
        try:
            api.set_provider_and_wait(provider, "devote-test")
        except OpenFeatureError:
            assert state in ("fatal", "error")

    def evaluate(self, kind, key, default, user):
        ask = getattr(self.client, f"get_{kind.lower()}_details")
        found = ask(key, default, EvaluationContext(user))
        return {
            "value": found.value,
            "flagKey": found.flag_key,
            "variant": found.variant,
            "reason": found.reason,
            "errorCode": found.error_code,
            "flagMetadata": found.flag_metadata,
        }

    def track(self, event, user, value):
        details = None if value is None else TrackingEventDetails(value)
        self.client.track(event, EvaluationContext(user), details)

    def watch(self, event):
        kind = ProviderEvent[event]
        self.seen[kind] = threading.Event()
        self.client.add_handler(kind, lambda details: self.seen[kind].set())

    def wait_for(self, event):
        assert self.seen[ProviderEvent[event]].wait(DEADLINE)

    def status(self):
        return self.client.get_provider_status().value

    def answer(self, key):
        until = time.monotonic() + DEADLINE
        while not (answers := self.server.operator.messages(key, 2)):
            assert time.monotonic() < until
            time.sleep(0.05)
        ((_, answer),) = answers
        return answer.bit


@pytest.fixture
def world(server, tmp_path):
    world = World(server, tmp_path)
    world.provider("stable")
    yield world
    api.shutdown()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_standard(scenario, world):
    step.run(scenario, world)


@pytest.fixture
def client(server, tmp_path):
    """Sets a provider with these options, and gives its client."""

    def start(address=server.address, **options):
        options = {
            "flags": FLAGS,
            "within": DEADLINE,
            "pace": Pace(every=0.1, base=0.1, cap=0.5),
            **options,
        }
        api.set_provider(DevoteProvider(address, tmp_path, **options), "devote-test")
        client = api.get_client("devote-test")
        while client.get_provider_status() is ProviderStatus.NOT_READY:
            time.sleep(0.01)
        return client

    yield start
    api.shutdown()


def open_survey(server, name, enrolment="open", **how):
    scheme = Survey(**{"privacy": None, "reply_after": 1.0, **how})
    spec = ExperimentSpec(arms=("left", "right"), name=name, epsilon=0.5, delta=0.25, scheme=scheme)
    server.operator.open(Experiment(spec, enrolment))


def answers(server, name):
    return [answer for _, answer in server.operator.messages(name, 2)]


def test_an_app_that_knows_only_openfeature_runs_an_experiment_to_its_end(server, client):
    """Everybody clicks the right banner and nobody the left: 40 users are more than it takes."""
    open_survey(server, "whole")
    shop = client(flags={"whole": Flag(rewards={"click": 1.0})})
    for number in range(40):
        user = EvaluationContext(str(number))
        if shop.get_string_value("whole", "left", user) == "right":
            shop.track("click", user)
    one = EvaluationContext("0")
    until(lambda: shop.get_string_details("whole", "left", one).reason == Reason.STATIC)
    assert shop.get_string_value("whole", "left", EvaluationContext("newcomer")) == "right"
    with HttpLog(f"{server.address}/experiments/whole") as log:
        assert verify_log(log).ok


def test_after_a_restart_answers_leave_though_no_user_comes_back(server, client):
    open_survey(server, "restart")
    meaning = {"restart": Flag(rewards={"click": 1.0})}
    shop = client(flags=meaning)
    for user in map(EvaluationContext, ("ann", "bob")):
        shop.get_string_value("restart", "left", user)
        shop.track("click", user)
    api.shutdown()
    assert answers(server, "restart") == []
    client(flags=meaning)
    until(lambda: len(answers(server, "restart")) == 2)
    assert [answer.bit for answer in answers(server, "restart")] == [1, 1]


def test_after_a_restart_a_flag_is_joined_as_it_says(server, client):
    """Its users were opened without what the flag itself asks for, such as consent."""
    open_survey(server, "asks")
    shop = client(flags={"asks": Flag(rewards={"click": 1.0})})
    shop.get_string_value("asks", "left", EvaluationContext("ann"))
    api.shutdown()
    join = {"fallback": "left", "consent": False}
    shop = client(flags={"asks": Flag(rewards={"click": 1.0}, join=join)})
    found = shop.get_string_details("asks", "left", EvaluationContext("ann"))
    assert found.reason == Reason.DEFAULT


def test_no_more_devices_are_open_than_may_be_and_none_that_waits_is_closed(server, client):
    open_survey(server, "crowd")
    shop = client(most_open=2)
    found = [shop.get_string_details("crowd", "left", EvaluationContext(str(n))) for n in range(3)]
    assert [each.error_code for each in found] == [None, None, ErrorCode.GENERAL]
    assert "most_open" in found[2].error_message
    until(lambda: len(answers(server, "crowd")) == 2)
    third = EvaluationContext("2")
    until(lambda: shop.get_string_details("crowd", "left", third).error_code is None)


def test_a_targeting_key_is_needed_unless_the_program_is_one_device(client):
    found = client().get_string_details("open-flag", "neither")
    assert (found.value, found.error_code) == ("neither", ErrorCode.TARGETING_KEY_MISSING)
    assert client(user="").get_string_details("open-flag", "neither").reason == Reason.SPLIT


def test_a_user_joins_with_an_invite_of_its_own(server, client):
    open_survey(server, "invited", "invite")
    given = iter(server.operator.invites("invited", 1))
    shop = client(invites=lambda flag, user: next(given, "no-more"))
    found = [shop.get_string_details("invited", "none", EvaluationContext(u)) for u in "ab"]
    assert [each.error_code for each in found] == [None, ErrorCode.GENERAL]
    assert (found[1].value, found[1].reason) == ("none", Reason.ERROR)


def test_a_survey_that_is_not_as_pinned_shows_the_default(client):
    found = client(privacy=1.0).get_string_details("open-flag", "neither", EvaluationContext("x"))
    assert found.value == "neither"
    assert "privacy" in found.error_message


async def evaluate(shop, user):
    return await shop.get_string_value_async("open-flag", "neither", EvaluationContext(user))


def test_async_programs_evaluate_too(client):
    assert asyncio.run(evaluate(client(), "ann")) in ("left", "right")


def test_a_server_that_goes_away_and_comes_back_is_an_event_each(tmp_path, client):
    """Meanwhile a known user sees an arm, and a new one the default, after the time given."""
    (tmp_path / "away").mkdir()
    away = ServerProcess(tmp_path / "away")
    away.start()
    try:
        with Operator(away.address, away.token) as away.operator:
            open_survey(away, "there")
        shop, seen = client(away.address, within=2.0), []
        for event in (ProviderEvent.PROVIDER_STALE, ProviderEvent.PROVIDER_READY):
            shop.add_handler(event, lambda details, event=event: seen.append(event))

        def status():
            assert shop.get_string_value("there", "none", EvaluationContext("ann")) != "none"
            return shop.get_provider_status()

        assert status() is ProviderStatus.READY
        away.stop()
        port = int(away.address.rpartition(":")[2])
        with socket.create_server(("127.0.0.1", port)):  # takes connections and never answers
            found = shop.get_string_details("there", "none", EvaluationContext("late"))
            assert (found.value, found.error_code) == ("none", ErrorCode.PROVIDER_NOT_READY)
        until(lambda: status() is ProviderStatus.STALE)
        away.start()
        until(lambda: status() is ProviderStatus.READY)
        until(lambda: seen[-2:] == [ProviderEvent.PROVIDER_STALE, ProviderEvent.PROVIDER_READY])
    finally:
        away.stop()


def test_a_user_who_stays_out_sees_the_default_and_a_limit_that_is_none_is_an_error(client):
    limits = {"open-flag": Flag(join={"traffic": 1e-12}), "boolean-flag": Flag(join={"traffic": 2})}
    shop = client(flags=limits)
    found = shop.get_string_details("open-flag", "neither", EvaluationContext("ann"))
    assert (found.value, found.reason) == ("neither", Reason.DEFAULT)
    assert "traffic" in found.flag_metadata["why"]
    wrong = shop.get_boolean_details("boolean-flag", False, EvaluationContext("ann"))
    assert (wrong.value, wrong.error_code) == (False, ErrorCode.GENERAL)
    assert "traffic=2" in wrong.error_message


def test_the_context_gives_the_segment_which_stays_on_the_device(server, client):
    open_survey(server, "kinds", privacy=2.0, segments=("phone", "desktop"))
    shop = client(segment="kind")
    found = [
        shop.get_string_details("kinds", "none", EvaluationContext("ann", attributes))
        for attributes in ({}, {"kind": "fridge"}, {"kind": "phone"})
    ]
    assert [each.error_code for each in found] == [ErrorCode.GENERAL, ErrorCode.GENERAL, None]
    assert [each.reason for each in found] == [Reason.ERROR, Reason.ERROR, Reason.SPLIT]
    assert "segment" in found[0].error_message
    until(lambda: len(answers(server, "kinds")) == 1)
    (answer,) = answers(server, "kinds")
    assert not {"phone", "ann"} & {str(value) for value in to_dict(answer).values()}
