"""The fleet's guide works: its blocks run in order, in one folder, against a live server."""

import re
import shutil
from urllib.request import urlopen

import pytest
from tests.docs.markdown import ROOT
from tests.docs.walk import follow
from tests.server.live import invites

from devote.boards.board import BoardRefused, Experiment
from devote.boards.operator import Operator
from devote.boards.store import SqliteStore
from devote.demo.processes import ServerProcess
from devote.device import Device
from devote.protocol import ExperimentSpec
from devote.server import Settings
from devote.server.settings import LIMITS

OPERATE = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
SETTINGS = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


@pytest.fixture
def server(tmp_path, forked_programs):
    running = ServerProcess(tmp_path)
    running.start()
    yield running
    running.stop()


def test_every_block_of_the_guide_runs_and_the_fleet_finds_the_best_banner(server, tmp_path):
    # The guide's server has the names that `devote serve` gives; this one is on a free port.
    (tmp_path / "devote-server.db.token").symlink_to(tmp_path / "operator.token")
    (tmp_path / "devote-server.db").symlink_to(tmp_path / "server.db")
    changes = {"http://127.0.0.1:8600": server.address}
    fleet = follow("fleet.md", tmp_path, changes)
    assert f"{server.address}/experiments/banner\n" in fleet
    assert "offline since" in fleet
    assert "the answer: green" in fleet
    # a log, its copy, and against the copy
    assert follow("verify.md", tmp_path, changes).count("All is well.") == 3
    operate = follow("operate.md", tmp_path, changes)
    for line in (
        "banner is open until 2099-12-31 18:00 UTC.",
        "banner is closed, end 2099-12-31 18:00 UTC.",
        "links.txt: 20 invites.",
        "0 devices and 20 invites are revoked.",
    ):
        assert f"{line}\n" in operate
    assert "All is well." in operate  # an export
    with Operator(server.address, server.token) as late, pytest.raises(BoardRefused, match="token"):
        late.overview()
    fresh = (tmp_path / "operator.token").read_text().strip()
    with Operator(server.address, fresh) as operator:
        assert [item["name"] for item in operator.overview()] == ["banner"]
    with urlopen(f"{server.address}/metrics") as answer:
        metrics = answer.read().decode()
    assert all(name in metrics for name in re.findall(r"`(devote_\w+)", OPERATE))
    kept = SqliteStore(tmp_path / "backup.db")
    assert kept.rows("banner")[0] > 0
    assert invites(kept) == (60, 38)
    kept.close()


def test_the_page_names_every_limit_with_its_default():
    table = OPERATE.partition("\n## Limits\n")[2].partition("\n## ")[0]
    named = [name for group in SETTINGS.findall(table) for name in re.findall(r"`(\w+)`", group)]
    assert set(named) == set(LIMITS)
    for name, value in ((name, getattr(Settings(), name)) for name in LIMITS):
        (row,) = [line for line in table.splitlines() if f"`{name}`" in line.partition(" | ")[0]]
        assert f"{value:,.0f}" in row, f"{name} is {value}"


def test_a_board_restored_from_a_backup_gets_its_votes_back_though_it_grew_past_the_device(
    server, tmp_path
):
    """As the page says: noticed by what was read before, not by the number alone."""
    spec = ExperimentSpec(arms=["good", "bad"], name="banner", scheme={"quorum": 30})
    with Operator(server.address, server.token) as operator:
        url = operator.open(Experiment(spec, "open"))
    with (
        Device.join(url, store=tmp_path / "second.db") as second,
        Device.join(url, store=tmp_path / "third.db") as third,
    ):
        with Device.join(url, store=tmp_path / "first.db") as first:
            server.stop()
            shutil.copy(tmp_path / "server.db", tmp_path / "backup.db")
            server.start()
            _play_until_vote(first)
            assert first.sync()
        server.stop()
        shutil.copy(tmp_path / "backup.db", tmp_path / "server.db")
        server.start()
        for device in (second, third):
            _play_until_vote(device)
            assert device.sync()
        with Device.join(url, store=tmp_path / "first.db") as first:
            assert first.sync()
            voters = {device.status().voter for device in (first, second, third)}
        with Operator(server.address) as operator:
            there = {message.voter for _, message in operator.messages("banner", 2)}
        assert there == voters


def _play_until_vote(device):
    while not (device.status().sent or device.status().waiting):
        device.reward(1.0 if device.choose() == 0 else 0.0)
