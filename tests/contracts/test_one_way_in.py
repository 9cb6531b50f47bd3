"""One way into the server, and one admission: nothing of it is in the sources twice."""

import re
from collections import Counter
from pathlib import Path

SOURCES = {
    path: path.read_text() for path in (Path(__file__).parents[2] / "src" / "devote").rglob("*.py")
}


def found(pattern: str) -> list[str]:
    return [text for source in SOURCES.values() for text in re.findall(pattern, source)]


def test_no_class_extends_a_protocol_or_a_server_of_uvicorn_or_asyncio():
    assert found(r"class \w+\([^)]*(?:H11Protocol|asyncio\.\w*Protocol|uvicorn\.\w+)[^)]*\)") == []
    assert found(r"class \w+\([^)]*socket\.socket[^)]*\)") == []
    assert found(r"type: ignore\[method-assign\]") == []


def test_each_reason_of_admission_occurs_once():
    reasons = [
        "This voter is not enrolled in the experiment.",
        "The operator has revoked this device.",
        "Nothing new is taken; what is there can be read.",
        "A voter may post at most",
        "This experiment has all of its",
        "This experiment needs an invite, and none was given.",
        "This invite is used already, expired, revoked or unknown.",
        "has no such message.",
    ]
    counted = Counter({reason: len(found(re.escape(reason))) for reason in reasons})
    assert all(counted[reason] == 1 for reason in reasons), counted


def test_each_route_is_answered_once():
    from devote.server.app import ROUTES

    handlers = Counter(handler for methods in ROUTES.values() for handler in methods.values())
    assert max(handlers.values()) == 1
