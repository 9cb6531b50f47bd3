"""The API does what its description says, for requests that follow it and for those that do not."""

import json
from importlib.resources import files

import pytest
from hypothesis import settings
from tests.boards.local import here
from tests.server.live import OPERATOR, SPEC, TOKEN, enrolled

from devote.boards.store import SqliteStore
from devote.protocol import ExperimentSpec
from devote.protocol.messages import KINDS, MAX_ARMS
from devote.schemes import Survey
from devote.server import Settings, create_app
from devote.server.app import ROUTES

STORE = SqliteStore(":memory:")
STORE.create(here(SPEC))
APP = create_app(STORE, Settings(token=TOKEN))
API = json.loads(files("devote.server").joinpath("openapi.json").read_text())
PATHS = API["paths"]
SCHEMES = ("decentralized", "jury", "survey")
OPERATIONS = [(path, verb) for path, verbs in PATHS.items() for verb in verbs]
ENDING = [(path, verb) for path, verb in OPERATIONS if not path.endswith("/stream")]


@pytest.fixture(scope="module")
def schema():
    """Read here, its cases made in the tests: else each worker would, while it collects them."""
    import schemathesis
    from schemathesis.checks import load_all_checks

    load_all_checks()
    return schemathesis.openapi.from_asgi("/openapi.json", APP)


def whole_as_fraction(value) -> bool:
    """Whether a body has a number such as 3.0: JSON Schema calls it an integer, we do not."""
    if isinstance(value, dict):
        return any(map(whole_as_fraction, value.values()))
    return isinstance(value, float) and value.is_integer()


@settings(max_examples=2 * settings().max_examples)
def check(case):
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    # Whether eta, delta, the quorum and the players go together is more than a schema can say.
    unsaid = case.operation.label == "POST /experiments" or whole_as_fraction(case.body)
    answer = case.call(headers=OPERATOR)
    excluded = [positive_data_acceptance] if unsaid else []
    if answer.status_code == 410:  # an earlier call has deleted it
        excluded = [positive_data_acceptance, negative_data_rejection]
    case.validate_response(answer, headers=OPERATOR, excluded_checks=excluded)
    assert STORE.rows("banner") == (0, [])
    assert enrolled(STORE) == []


@pytest.mark.parametrize(("path", "verb"), ENDING)
def test_the_api_is_as_described(schema, path, verb):
    from schemathesis.pytest.lazy import get_all_tests

    operation = schema.include(path=path, method=verb.upper())
    (made,) = get_all_tests(schema=operation, test_func=check, settings=None, given_kwargs=None)
    _, test = made.ok()
    test()


def test_the_description_is_complete():
    served = {(path, verb.lower()) for path, verbs in ROUTES.items() for verb in verbs}
    assert served == {*OPERATIONS, ("/openapi.json", "get")}
    for operation in (operation for verbs in PATHS.values() for operation in verbs.values()):
        assert operation["description"].endswith(".")
        assert all(item["description"] for item in operation.get("parameters", ()))
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert answer == {"$ref": f"#/components/responses/Error{status}"}
                answer = API["components"]["responses"][f"Error{status}"]
                assert list(answer["content"]) == ["application/json"]
            assert "Devote-Version" in answer["headers"]
            assert ("Retry-After" in answer["headers"]) == (status in ("429", "503"))


def test_the_description_knows_every_kind_of_message_and_no_other():
    described = {}
    for form in API["components"]["schemas"]["Message"]["oneOf"]:
        numbers = {name: field for name, field in form["properties"].items() if "type" in field}
        described[form["properties"]["type"]["const"]] = {
            name: (field["minimum"], field["maximum"])
            for name, field in numbers.items()
            if field["type"] == "integer"
        }
    assert described == {
        kind.name: {
            name: (number.least, MAX_ARMS - 1 if number.most is None else number.most)
            for name, number in kind.numbers.items()
        }
        for kind in KINDS.values()
        if kind.form.__module__.startswith("devote.")  # other tests register schemes of their own
    }


def test_a_surveys_tally_and_its_answers_are_described_to_the_last_field():
    """What every scheme tells is required; what only a survey tells is described."""
    schemas = API["components"]["schemas"]
    tally = schemas["TallyAnswer"]["properties"]["tally"]
    public = {spec.scheme.name: spec.scheme.tally(spec).public() for spec in map(spec_of, SCHEMES)}
    segmented = ExperimentSpec(arms=3, scheme=Survey(segments=("phone", "desktop")))
    shown = segmented.scheme.tally(segmented).public()
    assert set(public["survey"]) | {"segments"} == set(shown) == set(tally["properties"])
    [row, _] = shown["segments"]
    assert list(row) == tally["properties"]["segments"]["items"]["required"]
    assert set(tally["required"]) == set.intersection(*map(set, public.values()))
    described = schemas["Message"]["oneOf"]
    (answer,) = [kind for kind in described if kind["properties"]["type"]["const"] == "answer"]
    assert answer["required"] == list(answer["properties"])
    assert answer["properties"]["seen"] == {"type": "integer", "minimum": 0, "maximum": 2**53}
    assert tally["properties"]["snapshot"]["maximum"] == 2**53


def spec_of(scheme):
    return ExperimentSpec(arms=3, scheme=scheme)
