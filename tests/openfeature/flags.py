"""The flags of the scenarios: surveys on a live server, of which some are settled."""

import httpx
from tests.server.live import identity

from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Scope, to_dict
from devote.schemes import Survey
from devote.schemes.survey.tally import Answer

SETTLED = {
    "boolean-flag": ("true", "false"),
    "boolean-zero": ("false", "true"),
    "string-flag": ("hi", "ciao"),
    "string-zero": ("empty", "hi"),
    "integer-flag": ("10", "1"),
    "integer-zero": ("0", "1"),
    "float-flag": ("0.5", "0.25"),
    "object-flag": ('{"tea": 1}', "{}"),
    "object-zero": ("{}", '{"tea": 1}'),
    "typed-flag": ("number", "other"),
}
"""Each with the arm that has won first."""

OPEN = ("open-flag",)
ASKED = ("clicked", "bought", "abandoned", "looked-at")
"""Those whose answer a scenario looks at."""

VALUES = {"string-zero": {"empty": "", "hi": "hi"}, "typed-flag": {"number": 3, "other": 4}}


def flags() -> dict[str, dict[str, dict[str, object]]]:
    """What a provider is told of each flag."""
    told = {name: {"values": values} for name, values in VALUES.items()}
    return told | {name: {"rewards": {"click": 1.0}} for name in ASKED}


def open_flags(operator: Operator) -> None:
    """Open all of them, and settle those that are to be."""
    for name, arms in SETTLED.items():
        settle(operator, name, arms)
    for name in (*OPEN, *ASKED):
        operator.open(Experiment(_spec(name, ("left", "right")), "open"))


def _spec(name: str, arms: tuple[str, ...]) -> ExperimentSpec:
    scheme = Survey(privacy=None, reply_after=1.0)
    return ExperimentSpec(arms=arms, name=name, epsilon=0.5, delta=0.25, scheme=scheme)


def settle(operator: Operator, name: str, arms: tuple[str, ...]) -> None:
    """Open a survey in which each voter likes the first arm and none the others."""
    spec = _spec(name, arms)
    url = operator.open(Experiment(spec, "open"))
    with httpx.Client() as server:
        scope = Scope(server.get(url).json()["board"], spec.fingerprint)
        for number in range(1, 40):
            voter = identity(number)
            joining = {"voter": voter.voter, "signature": voter.sign_enrolment(scope)}
            assert server.post(f"{url}/enrolments", json=joining).status_code == 201
            arm, bit = number % 2, 1 - number % 2
            envelope = voter.sign(Answer(name, arm, bit, 1, 0, voter.voter), scope)
            posted = {"message": to_dict(envelope.message), "signature": envelope.signature}
            assert server.post(f"{url}/messages", json=posted).status_code == 201
            if server.get(f"{url}/tally").json()["tally"]["status"] == "agreed":
                return
    raise AssertionError("not settled")
