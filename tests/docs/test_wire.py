"""docs/wire.md names every route, every status, every kind of message and every default."""

import json
import re
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import pytest
from tests.wire.test_second import SECOND

from devote.gossip.exchange import PATHS
from devote.protocol import ExperimentSpec
from devote.protocol.messages import KINDS, VERSION, canonical
from devote.protocol.scheme import SCHEMES
from devote.rules.algorithm import ALGORITHMS

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
WORDS = {'`"none"`': None, "–": 0.0}


def _rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return [[cell.strip() for cell in row] for row in rows if len(row) > 1]


@pytest.fixture(scope="module")
def described():
    return json.loads(files("devote.server").joinpath("openapi.json").read_text())["paths"]


def test_every_route_is_there(described):
    text = re.sub(r"\?[^`]*", "", PAGE)
    named = set(re.findall(r"`((?:GET|POST|DELETE) /[^`]*)`", text))
    served = {f"{verb.upper()} {path}" for path, verbs in described.items() for verb in verbs}
    between_peers = {f"POST {path}" for path in PATHS}
    assert served | between_peers | {"GET /openapi.json"} == named


def test_every_status_of_an_error_is_there(described):
    answers = [
        a for verbs in described.values() for verb in verbs.values() for a in verb["responses"]
    ]
    named = {status for row in _rows("Errors") for status in re.findall(r"\d{3}", row[0])}
    assert {status for status in answers if status >= "400"} <= named


def test_every_kind_of_message_is_there():
    rows = {row[0].strip("`"): row for row in _rows("Messages")}
    for name in ("decentralized", "jury", "survey"):
        scheme = SCHEMES[name]
        for kind in (k for k in KINDS.values() if k.form in scheme.about.messages):
            row = rows[kind.name]
            assert row[1] == name
            assert re.findall(r"`(\w+)`", row[2]) == sorted(kind.numbers)


def test_the_defaults_are_those_of_the_code():
    reported = {row[0].strip("`"): row[1] for row in _rows("Specifications")}
    plain = ExperimentSpec(arms=2)
    for name in ("epsilon", "delta"):
        assert reported[name] == str(getattr(plain, name))
    assert reported["eta"] == f"{plain.eta}; jury {SCHEMES['jury'].about.default_eta}"
    (betting,) = {SCHEMES[name].about.default_algorithm for name in ("jury", "survey")}
    assert reported["algorithm"] == f"`{plain.algorithm}`; jury, survey `{betting}`"
    for name in ("decentralized", "jury", "survey"):
        defaults = {i.name: i.default for i in fields(SCHEMES[name])}
        for optional in ("segments", "subset"):  # left out of a survey without segments
            defaults.pop(optional, None)
        assert _defaults(reported[name]) == defaults
    others = _defaults(reported.pop("betting, and all others"))
    shipped = (a for a in ALGORITHMS.values() if a.choose.__module__.startswith("devote."))
    for algorithm in shipped:
        defaults = {option: algorithm.default(option) for option in algorithm.options}
        assert defaults == (_defaults(reported[algorithm.name]) if defaults else others)


def _defaults(cell: str) -> dict[str, object]:
    """The names and values of a cell such as ``a` 1, `b` "x"``."""
    given = re.findall(r"`(\w+)` ([^,]+)", cell)
    return {name: _value(written) for name, written in given}


def _value(written: str) -> object:
    if written in WORDS:
        return WORDS[written]
    return written.strip('`"') if written.startswith("`") else float(written)


def test_its_examples_are_right():
    assert f"The version is {VERSION}." in PAGE
    assert canonical({"b": [0.25, "é", None], "a": 2}).decode() in PAGE
    (code,) = [c for c in re.findall(r"```js\n(.*?)```", PAGE, re.S) if "canonical" in c]
    second = SECOND.read_text().replace("spelt", "canonical")
    for line in code.splitlines():
        assert line in second
