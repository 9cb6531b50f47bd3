"""The committed build is what the source gives, small, typed, and needs nothing else."""

import gzip
import json
import subprocess

import pytest
from tests.browser.site import CLIENT, ROOT
from tests.tools import missing

import devote

FOLDER = ROOT / "clients/js"
PACKAGE = json.loads((FOLDER / "package.json").read_text())
TOOLS = FOLDER / "node_modules/.bin"
MOST = 9_000


@pytest.fixture
def tool():
    """Runs a tool of the client's developers in its folder."""
    if not (TOOLS / "tsc").exists() or not (TOOLS / "esbuild").exists():
        missing("The client's build is checked with npm's modules: make client")

    def run(name: str, *words: str) -> None:
        command = [str(TOOLS / name), *words]
        ran = subprocess.run(
            command, cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

    return run


def test_the_committed_build_is_what_the_source_gives(tool, tmp_path):
    name, *words = PACKAGE["scripts"]["bundle"].split()
    (out,) = [word for word in words if word.startswith("--outfile=")]
    assert FOLDER / out.removeprefix("--outfile=") == CLIENT
    built = tmp_path / "devote.js"
    tool(name, *(f"--outfile={built}" if word == out else word for word in words))
    assert CLIENT.read_text() == built.read_text(), "Build it again: npm run build in clients/js."


def test_the_types_are_right(tool):
    tool("tsc", "--noEmit")


def test_it_is_small_and_needs_nothing_at_run_time():
    assert len(gzip.compress(CLIENT.read_bytes(), 9, mtime=0)) < MOST
    assert "import" not in CLIENT.read_text().replace("importKey", "")
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(PACKAGE)


def test_the_package_says_the_same_version_and_names_no_registry():
    assert PACKAGE["version"] == devote.__version__
    lock = (FOLDER / "package-lock.json").read_text()
    assert "://" not in lock
    assert json.loads(lock)["version"] == PACKAGE["version"]
