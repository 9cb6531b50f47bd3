"""``devote device``: with made-up clicks, with a person, in a survey."""

import io
import sys
from pathlib import Path

import pytest
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote.server import Settings, create_app

SPEC = 'name = "banner"\narms = ["red", "green", "blue"]\nepsilon = 1.0\n[scheme]\nquorum = 2\n'
SURVEY = 'name = "banner"\narms = ["red", "green"]\n[scheme]\nname = "survey"\nreply_after = 1.0\n'


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "server.db") as store:
        yield store


@pytest.fixture
def address(devote, store, tmp_path, monkeypatch, request):
    """An experiment's address, which needs no invite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEVOTE_TOKEN", TOKEN)
    Path("banner.toml").write_text(getattr(request, "param", SPEC))
    with serving_in_thread(create_app(store, Settings(token=TOKEN))) as server:
        opening = ("experiments", "open", "banner.toml", "--enrolment", "open")
        yield devote(*opening, "--server", server).out.strip()


def test_devices_with_made_up_users_find_the_answer(devote, address):
    for n in range(3):
        words = ("device", address, "--store", f"{n}.db", "--means", ".9,.1,.1", "--seed", n)
        printed = devote(*words, "--pulls", 300, "--json").json
        assert (printed["waiting"], printed["degraded"]) == (0, [])
    assert (printed["state"], printed["answer"]) == ("agreed", ["red"])
    again = devote("device", address, "--store", "0.db", "--means", ".9,.1,.1")
    assert again.code == 0
    assert "the answer: red" in again.out
    assert "banner: agreed, synced" in again.out
    few = devote("device", address, "--means", ".9,.1")
    assert (few.code, "2 means were given" in few.err) == (2, True)
    nothing = devote("device", address.replace("banner", "nothing"), "--store", "x.db")
    assert (nothing.code, "There is no experiment" in nothing.err) == (2, True)


@pytest.mark.parametrize("address", [SURVEY], indirect=True)
def test_a_device_of_a_survey_ends_when_its_answer_has_left(devote, address, store):
    words = ("device", address, "--means", ".9,.1", "--pulls", 3, "--json")
    ran = devote(*words)
    assert "An answer leaves in 1 s" in ran.err
    assert (ran.json["sent"], ran.json["waiting"], ran.json["state"]) == (1, 0, "open")
    assert store.rows("banner")[0] == 1
    assert "leaves" not in devote(*words).err
    assert store.rows("banner")[0] == 1


def test_a_person_plays_a_device_and_goes_on_later(devote, address, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\noops\n0\n\n"))
    ran = devote("device", address)
    assert ran.code == 0
    assert ran.out.count("? (0 to 1)") == 4
    assert "please" in ran.out
    assert "the answer: none yet" in ran.out
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    ran = devote("device", address, "--json")
    assert (ran.json["state"], ran.json["answer"]) == ("open", [])
    assert ran.err.count("? (0 to 1)") == 2


SEGMENTS = SURVEY.replace("[scheme]", "[scheme]\nsegments = ['phone', 'desktop']")


@pytest.mark.parametrize("address", [SEGMENTS], indirect=True)
def test_a_segment_is_given_on_the_command_line_and_verify_tells_how_each_stands(devote, address):
    words = ("device", address, "--means", ".9,.1", "--pulls", 1)
    for wrong in (words, (*words, "--segment", "watch")):
        ran = devote(*wrong)
        assert (ran.code, "Use one of: phone, desktop" in ran.err) == (2, True)
    first = devote(*words, "--segment", "phone", "--json")
    assert (first.json["sent"], first.json["answer"]) == (1, [])
    assert "phone" not in first.out + first.err
    ran = devote("verify", address)
    assert (ran.code, "  desktop: undecided, in the lead: red" in ran.out) == (0, True)
    printed = devote("verify", address, "--json").json["segments"]
    assert printed[0] == {"name": "phone", "status": "open", "leader": "red"}
    ran = devote("demo", "--scheme", "survey", "--set", "segments=phone,desktop")
    assert (ran.code, "users of this demonstration are of one kind" in ran.err) == (2, True)
