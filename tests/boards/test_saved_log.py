"""A copy of a log in a file: whole or not there, and whatever is in it, an answer or an error."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.boards.local import here
from tests.boards.logs import HONEST, fold, items, voters

from devote.boards.logs import LogCopy, SavedLog
from devote.boards.verification import verify_log
from devote.errors import DevoteError


class ListedLog:
    """A log in memory, to be copied."""

    def __init__(self, scheme, extra=()):
        spec, log = HONEST[scheme]()
        self.experiment = here(spec, enrolled=len(voters(log)))
        self.voters = voters(log)
        self.last_statements, self.findings, self.compared = (), [], 0
        self.statements = (fold(spec, log),)
        self.number = len(log)
        self._items = [*items(log), *extra]

    def items(self):
        return iter(self._items)


def copied(folder, scheme, extra=()):
    log, path = ListedLog(scheme, extra), Path(folder) / "copy.jsonl"
    with LogCopy(path, log) as copy:
        report = verify_log(log, copy=copy)
    return path, report


def again(path):
    with SavedLog(path) as log:
        return verify_log(log)


@pytest.mark.parametrize("scheme", HONEST)
def test_a_copy_verifies_as_the_log_did(tmp_path, scheme):
    path, report = copied(tmp_path, scheme)
    assert again(path).head == report.head
    assert again(path).ok
    with SavedLog(path) as log:
        memory = log.remembered()
        assert len(list(memory.messages)) == report.messages
        assert memory.voters == ListedLog(scheme).voters


@pytest.mark.parametrize("item", [{"end": 3}, {"number": 19, "message": None}, None, [1], "x"])
def test_what_a_server_gave_in_place_of_a_message_is_evidence_too(tmp_path, item):
    path, report = copied(tmp_path, "jury", [item])
    assert not report.ok
    assert again(path).findings == report.findings


def test_a_copy_that_is_not_ended_leaves_nothing_and_takes_nothing_away(tmp_path):
    path, _ = copied(tmp_path, "jury")
    before = path.read_bytes()
    with LogCopy(path, ListedLog("survey")) as copy:
        copy.keep({"number": 1})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(data=st.data())
def test_a_copy_with_any_value_changed_is_refused_or_found_out_or_comes_to_the_same(data):
    with tempfile.TemporaryDirectory() as folder:
        path, report = copied(folder, "decentralized")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        place = data.draw(st.integers(0, len(lines) - 1))
        line, names = lines[place], sorted(lines[place])
        name = data.draw(st.sampled_from(names))
        if isinstance(line[name], dict) and data.draw(st.booleans()):
            line, name = line[name], data.draw(st.sampled_from(sorted(line[name])))
        line[name] = data.draw(VALUES)
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))
        try:
            found = again(path)
        except DevoteError:
            return
        assert not found.ok or (found.head, found.answer) == (report.head, report.answer)
