"""The API does what its description says, for requests that follow it and for those that do not."""

import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.server.live import OPERATOR, SPEC, TOKEN, enrolled

from devote.boards.experiment import Experiment
from devote.boards.store import SqliteStore
from devote.server import Settings, create_app

STORE = SqliteStore(":memory:")
STORE.create(Experiment(SPEC))
schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(STORE, Settings(token=TOKEN)))


@schema.exclude(path_regex="/stream$").parametrize()
@settings(max_examples=2 * settings().max_examples)
def test_the_api_is_as_described(case):
    # Whether eta, delta, the quorum and the players go together is more than a schema can say.
    unsaid = [positive_data_acceptance] if case.operation.label == "POST /experiments" else []
    case.call_and_validate(headers=OPERATOR, excluded_checks=unsaid)
    assert STORE.rows("banner") == (0, [])
    assert enrolled(STORE) == []
