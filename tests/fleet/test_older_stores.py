"""Device stores that older versions of devote have made are refused untouched."""

import shutil
from pathlib import Path

import pytest
from tests.fleet.worlds import PretendServer

from devote.boards.database import StoreMismatch
from devote.fleet import Device
from devote.fleet.store import Store

DATA = Path(__file__).parents[1] / "data"
OLD = sorted(DATA.glob("version_*/device-*.sqlite"))


def test_there_are_stores_of_two_older_versions():
    assert {path.parent.name for path in OLD} == {"version_1", "version_2"}


@pytest.mark.parametrize("old", OLD, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_older_store_is_refused_in_one_line_and_left_untouched(tmp_path, old):
    path = Path(shutil.copy(old, tmp_path / "device.db"))
    before = path.read_bytes()
    with pytest.raises(StoreMismatch, match="Join again with a new store") as caught:
        Store.open(path)
    fault, _, remedy = str(caught.value).partition("\n")
    assert f"has version {old.parent.name[-1]}, but this devote reads version 5" in fault
    assert "\n" not in remedy
    url = "http://127.0.0.1:9/experiments/banner"
    with pytest.raises(StoreMismatch, match="Join again"):
        Device.join(url, store=path, board=PretendServer())
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
