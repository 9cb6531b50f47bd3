"""The operator's calls, against a real server and against what is none."""

from dataclasses import replace

import pytest
from tests.boards.local import here
from tests.server.live import (
    SPEC,
    TOKEN,
    enrol,
    identity,
    invites,
    open_store,
    serving_in_thread,
    vote,
)

from devote.boards.board import BoardRefused
from devote.boards.operator import Operator
from devote.server import Settings, create_app


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        yield store


@pytest.fixture
def server(store):
    with serving_in_thread(create_app(store, Settings(token=TOKEN))) as address:
        yield address


@pytest.fixture
def operator(server):
    with Operator(server, TOKEN) as operator:
        yield operator


def test_an_operator_opens_lists_and_invites(server, operator, store):
    experiment = here(SPEC, "invite", 3)
    assert operator.experiments() == []
    assert operator.open(experiment) == f"{server}/experiments/banner"
    assert operator.open(experiment) == f"{server}/experiments/banner"
    (opened,) = operator.experiments()
    assert opened == replace(experiment, board=opened.board)
    assert opened.board != experiment.board, "the server draws it"
    made = operator.invites("banner", 4)
    assert len(set(made)) == 4
    assert invites(store) == (4, 0)


def test_an_operator_reads_the_votes_from_a_number_on(operator, store):
    store.create(here(SPEC))
    enrol(store, identity(1))
    votes = [vote(identity(1), arm) for arm in range(3)]
    for envelope in votes:
        store.post("banner", envelope)
    assert operator.messages("banner", 4) == [(n + 1, e.message) for n, e in enumerate(votes)]
    assert operator.messages("banner", 4, after=2) == [(3, votes[2].message)]


def test_reading_needs_no_token_and_writing_does(server):
    with Operator(server + "/") as nobody:
        assert nobody.experiments() == []
        with pytest.raises(BoardRefused, match="operator's token, and none was given"):
            nobody.open(here(SPEC))
    stranger = Operator(server, "not-the-operator's-token")
    with stranger, pytest.raises(BoardRefused, match="operator's token, and this is another"):
        stranger.invites("banner", 1)


def test_what_the_server_refuses_is_raised_in_its_words(operator):
    operator.open(here(SPEC))
    with pytest.raises(BoardRefused, match="with other settings is there already"):
        operator.open(here(SPEC.with_(scheme={"quorum": 3})))
    with pytest.raises(BoardRefused, match="There is no experiment 'other'"):
        operator.invites("other", 1)
    with pytest.raises(BoardRefused, match="count: must be a whole number from 1"):
        operator.invites("banner", 0)


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1:8600", "ftp://127.0.0.1", "http://", "http://[bad", "http://x:99999"]
)
def test_what_is_no_address_is_refused_at_once(address):
    with pytest.raises(BoardRefused, match="is not the address of a server"):
        Operator(address)
