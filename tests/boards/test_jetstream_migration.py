"""An experiment moved from a file to NATS is the same experiment."""

import asyncio
from contextlib import closing, contextmanager, suppress

import pytest
from tests.boards.local import here
from tests.boards.nodes import fresh_address
from tests.contracts.test_board_contract import ENROLLED, SCHEMES, SMALL_JURY, claim
from tests.server.live import SPEC, enrol, enrol_all, identity, open_store, vote

from devote.boards.board import BoardRefused, Experiment, Outcome, UnknownExperiment
from devote.boards.database import StoreError
from devote.boards.jetstream.migration import Moved, migrate
from devote.boards.jetstream.store import JetStreamStore
from devote.cli.main import main


@contextmanager
def both(tmp_path):
    """A store in a file, and an empty one on NATS."""
    with open_store(tmp_path / "x.db") as file, closing(JetStreamStore(fresh_address())) as nats:
        yield file, nats


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_was_moved_comes_to_the_same_and_goes_on(tmp_path, scheme):
    used = SCHEMES[scheme]
    with both(tmp_path) as (file, nats):
        file.create(here(used.spec))
        enrol_all(file, ENROLLED)
        for envelope in used.messages[:7]:
            assert file.post("banner", envelope).outcome is Outcome.ACCEPTED
        assert migrate(file, nats, "banner") == Moved("banner", 7, len(ENROLLED), 0, True)
        assert nats.get("banner") == file.get("banner")
        assert nats.rows("banner") == file.rows("banner")
        assert nats.voters("banner") == file.voters("banner")
        file.clock = nats.clock = lambda: 1.9e9
        assert nats.tally("banner") == file.tally("banner"), "signed with the same key"
        for envelope in used.messages[:7]:
            assert nats.post("banner", envelope).outcome is Outcome.DUPLICATE
        assert nats.post("banner", used.messages[7]).number == 8


def test_a_copy_of_a_store_on_nats_is_a_file_that_holds_the_same_and_can_be_moved_back(
    tmp_path, capsys
):
    address = fresh_address()
    with closing(JetStreamStore(address)) as nats:
        nats.create(here(SPEC, "invite", 5))
        used, unused, taken_back = nats.invite("banner", 3)
        enrol(nats, identity(1), invite=used)
        for arm in range(3):
            nats.post("banner", vote(identity(1), arm))
        nats.revoke("banner", voters=[identity(1).voter], invites=[taken_back])
        nats.change("banner", state="closed", ends=2_000_000_000)
        nats.create(Experiment(SPEC.with_(name="gone")))
        nats.delete("gone")
        copy = tmp_path / "copy.db"
        assert main(["backup", str(copy), "--store", address]) in (None, 0)
        assert copy.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]
        with open_store(copy) as file:
            assert file.content("banner") == nats.content("banner")
            file.clock = nats.clock = lambda: 1.9e9
            assert file.tally("banner") == nats.tally("banner"), "signed with the same key"
            assert file.create(here(SPEC.with_(name="gone"))).outcome is Outcome.REFUSED
            with closing(JetStreamStore(fresh_address())) as other:
                migrate(file, other, "banner")
                assert other.content("banner") == nats.content("banner")
                other.change("banner", state="open")
                assert enrol(other, identity(2), invite=unused).outcome is Outcome.ACCEPTED
                assert enrol(other, identity(3), invite=used).outcome is Outcome.REFUSED
    assert main(["backup", str(copy), "--store", address]) == 2
    assert "is there already" in capsys.readouterr().err


def test_invites_that_were_not_used_are_good_where_they_were_moved(tmp_path):
    with both(tmp_path) as (file, nats):
        file.create(here(SPEC, "invite"))
        used, unused = file.invite("banner", 2)
        enrol(file, identity(1), invite=used)
        assert migrate(file, nats, "banner").invites == 1
        assert enrol(nats, identity(2), invite=used).outcome is Outcome.REFUSED
        assert enrol(nats, identity(1)).outcome is Outcome.DUPLICATE
        assert enrol(nats, identity(2), invite=unused).outcome is Outcome.ACCEPTED


def test_a_move_that_breaks_off_leaves_nothing_and_can_be_done_again(tmp_path, monkeypatch):
    with both(tmp_path) as (file, nats):
        file.create(here(SPEC))
        enrol_all(file, ENROLLED)
        for voter in ENROLLED:
            file.post("banner", vote(voter))

        def die(*_):
            raise asyncio.CancelledError

        for broken in ("copy", "adopt"):
            command = nats._command

            async def die_at(do, *given, broken=broken, command=command, **more):
                return die() if do == broken else await command(do, *given, **more)

            with monkeypatch.context() as patch:
                patch.setattr(nats, "_command", die_at)
                with suppress(BaseException):
                    migrate(file, nats, "banner")
            with pytest.raises(UnknownExperiment):
                nats.get("banner")
        assert migrate(file, nats, "banner").new
        assert not migrate(file, nats, "banner").new, "it is there, and the same"
        nats.post("banner", vote(ENROLLED[0], 1))
        with pytest.raises(StoreError, match="not what was copied"):
            migrate(file, nats, "banner")


def test_what_is_posted_meanwhile_stops_the_move(tmp_path, monkeypatch):
    with both(tmp_path) as (file, nats):
        file.create(here(SMALL_JURY))
        enrol_all(file, ENROLLED)
        add = nats.invites.add

        async def post_and_add(*given):
            await asyncio.to_thread(file.post, "banner", claim(ENROLLED[0]))
            await add(*given)

        monkeypatch.setattr(nats.invites, "add", post_and_add)
        with pytest.raises(StoreError, match=r"meanwhile; nothing was moved.\nStop the server"):
            migrate(file, nats, "banner")
        with pytest.raises(UnknownExperiment):
            nats.get("banner")


def test_another_experiment_of_the_same_name_is_left_alone(tmp_path):
    with both(tmp_path) as (file, nats):
        file.create(here(SPEC))
        nats.create(Experiment(SPEC))
        with pytest.raises(BoardRefused, match="Another experiment 'banner' is there already"):
            migrate(file, nats, "banner")


def test_one_command_moves_a_store(tmp_path, capsys):
    address, path = fresh_address(), tmp_path / "x.db"
    with open_store(path) as file:
        for name in ("banner", "other"):
            file.create(Experiment(SPEC.with_(name=name)))
    assert main(["migrate", str(path), address, "--experiment", "other"]) == 0
    assert main(["migrate", str(path), address]) == 0
    told = capsys.readouterr().out.splitlines()
    nothing = "0 messages, 0 devices, 0 unused invites"
    assert told == [
        f"other: {nothing}: moved, read back, the same",
        f"banner: {nothing}: moved, read back, the same",
        f"other: {nothing}: there already, the same",
    ]
    with closing(JetStreamStore(address)) as nats:
        assert [each.name for each in nats.experiments()] == ["banner", "other"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.db", "nats://127.0.0.1:1"], "There is no file 'gone.db'"),
        (["x.db", "nats://127.0.0.1:1"], "No NATS node answers at nats://127.0.0.1:1/devote"),
        (["x.db", "http://127.0.0.1:1"], "is not the address of a store on NATS"),
        (["x.db", "nats://127.0.0.1:1", "--experiment", "no"], "There is no experiment 'no' here"),
    ],
)
def test_bad_input_to_a_move_is_one_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    with open_store("x.db") as file:
        file.create(here(SPEC))
    assert main(["migrate", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
