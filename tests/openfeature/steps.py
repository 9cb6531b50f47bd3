"""What the steps of the scenarios mean, for any provider: a world evaluates, tracks and watches."""

import json
from pathlib import Path
from typing import Any, Protocol

from tests.openfeature.gherkin import Steps, scenarios

SCENARIOS = [*scenarios(Path(__file__).parent / "provider.feature")]
READ = {"Boolean": json.loads, "String": str, "Integer": int, "Float": float, "Object": json.loads}
TARGET = "ann"

step = Steps()


class World(Protocol):
    """A provider in its program. ``details`` are those of the last evaluation, as the web has them.

    ``provider`` sets a provider that is stable, not ready, fatal or cannot be reached (error).
    """

    flag: tuple[str, str, Any]
    user: str
    details: dict[str, Any]

    def provider(self, state: str) -> None: ...
    def evaluate(self, kind: str, key: str, default: Any, user: str) -> dict[str, Any]: ...
    def track(self, event: str, user: str, value: float | None) -> None: ...
    def watch(self, event: str) -> None: ...
    def wait_for(self, event: str) -> None: ...
    def status(self) -> str: ...
    def answer(self, key: str) -> int: ...


@step(r"an? (stable|not ready|fatal|error) provider(?: is set)?")
def _(world, state):
    world.provider(state)


@step(r'an? (\w+)-flag with key "(.*)" and a default value "(.*)"')
def _(world, kind, key, default):
    world.flag = kind, key, READ[kind](default)


@step(r'a context containing a targeting key with value "(.*)"')
def _(world, user):
    world.user = user


@step("the flag was evaluated with details")
def _(world):
    world.details = world.evaluate(*world.flag, world.user)


@step(r'the resolved details value should be "(.*)"')
def _(world, value):
    assert world.details["value"] == READ[world.flag[0]](value)


@step(r'the resolved details value should be one of "(.*)"')
def _(world, values):
    assert world.details["value"] in values.split(", ")


@step(r'the flag key should be "(.*)"')
def _(world, key):
    assert world.details["flagKey"] == key


@step(r'the variant should be "(.*)"')
def _(world, variant):
    assert world.details["variant"] == variant


@step("the variant should be the value")
def _(world):
    assert world.details["variant"] == world.details["value"]


@step(r'the reason should be "(\w+)"')
def _(world, reason):
    assert world.details["reason"] == reason, world.details


@step(r'the error-code should be "(\w+)"')
def _(world, code):
    assert world.details["errorCode"] == code, world.details


@step("the resolved metadata should name the experiment and the play")
def _(world):
    metadata = world.details["flagMetadata"]
    assert metadata["experiment"] == world.flag[1]
    assert metadata["play"]


@step(r"a (PROVIDER_\w+) handler is attached")
def _(world, event):
    world.watch(event)


@step(r"the (PROVIDER_\w+) handler must run")
def _(world, event):
    world.wait_for(event)


@step(r'the provider status should be "(\w+)"')
def _(world, status):
    assert world.status() == status


@step(r'an event was tracked with tracking event name "(.*)" and value "(.*)"')
def _(world, event, value):
    world.track(event, world.user, float(value) if value else None)


@step(r'the server should have the answer "(\d)"')
def _(world, bit):
    assert world.answer(world.flag[1]) == int(bit)
