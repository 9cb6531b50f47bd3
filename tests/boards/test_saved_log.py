"""A copy of a log in a file: whole or not there, and whatever is in it, an answer or an error."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.boards.logs import HONEST, NAME, fill
from tests.server.live import open_store, serving_in_thread

from devote.boards.logs import HttpLog, LogCopy, SavedLog
from devote.boards.verification import verify_log
from devote.errors import DevoteError
from devote.server import create_app


def copied(folder, scheme):
    """A copy of a server's log, and what was found when it was made."""
    spec, log = HONEST[scheme]()
    path = Path(folder) / "copy.jsonl"
    with open_store(Path(folder) / "server.db") as store:
        fill(store, spec, log, len(log))
        with (
            serving_in_thread(create_app(store)) as server,
            LogCopy(path) as copy,
            HttpLog(f"{server}/experiments/{NAME}", copy=copy) as log,
        ):
            return path, verify_log(log)


def again(path):
    with SavedLog(path) as log:
        return verify_log(log)


@pytest.mark.parametrize("scheme", HONEST)
def test_a_copy_verifies_as_the_log_did(tmp_path, scheme):
    path, report = copied(tmp_path, scheme)
    assert report.ok
    assert replace(again(path), experiment=report.experiment) == report
    with SavedLog(path) as log:
        memory = log.remembered()
        assert len(list(memory.messages)) == report.messages
        assert len(memory.voters) == report.enrolled


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("saved"), "decentralized")


def test_a_copy_that_is_not_ended_leaves_nothing_and_takes_nothing_away(tmp_path):
    path = tmp_path / "copy.jsonl"
    path.write_text("kept")
    with LogCopy(path) as copy:
        copy.keep({"path": "/"})
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(data=st.data())
def test_a_copy_with_any_value_changed_is_refused_or_found_out_or_comes_to_the_same(saved, data):
    path, report = saved
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    line = lines[data.draw(st.integers(0, len(lines) - 1))]
    name = data.draw(st.sampled_from(sorted(line)))
    while isinstance(line[name], dict | list) and line[name] and data.draw(st.booleans()):
        line = line[name]
        places = sorted(line) if isinstance(line, dict) else range(len(line))
        name = data.draw(st.sampled_from(places))
    line[name] = data.draw(VALUES)
    changed = path.with_name("changed.jsonl")
    changed.write_text("".join(json.dumps(each) + "\n" for each in lines))
    try:
        found = again(changed)
    except DevoteError:
        return
    assert not found.ok or (found.head, found.answer) == (report.head, report.answer)
