"""A device installs nothing but this library, and everything a device does works there."""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import devote

ROOT = Path(__file__).parents[2]

PROGRAM = """
import importlib.util
import sys

import devote
from devote.protocol import Case
from devote.rules.algorithm import ALGORITHMS

TEN = (
    "naive median_elimination successive_elimination kl_racing lucb kl_lucb ugapec ser3 ser4 "
    "mixture_elimination"
).split()
for package in ("numpy", "numba", "scipy", "pytest", "hypothesis", "pip"):
    assert importlib.util.find_spec(package) is None, package
assert set(TEN) <= set(ALGORITHMS)

problem = devote.Problem("easy", [0.1, 0.9, 0.1])
for name in TEN:
    endless = ALGORITHMS[name].endless
    spec = devote.ExperimentSpec(
        arms=3,
        algorithm=name,
        epsilon=1.0 if name == "median_elimination" else 0.5,
        eta=0.5,
        delta=0.02,
        options={"phi": 1e-9} if endless else {},
    )
    run = devote.run_players(spec, problem, 64, horizon=20_000 if endless else None)
    assert (run.status, run.winners) == ("agreed", (1,)), (name, run)
    assert run.broadcasts <= spec.scheme.guarantees(Case(spec)).message_bound
    print(name, run.samples)

loaded = {name.partition(".")[0] for name in sys.modules} - {"devote", "__main__", "__mp_main__"}
assert loaded <= sys.stdlib_module_names, sorted(loaded - sys.stdlib_module_names)
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A fresh environment that holds the sources and nothing else, not even pip."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    where = [str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    (Path(site) / "devote.pth").write_text(f"{ROOT / 'src'}\n")
    return python


def test_ten_subroutines_run_decentralized_on_64_players_with_nothing_installed(bare_python):
    done = subprocess.run(
        [str(bare_python), "-I", "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 10


def test_importing_devote_needs_nothing_installed(bare_python):
    program = "import devote, sys; print(devote.__version__, 'numpy' in sys.modules)"
    done = subprocess.run(
        [str(bare_python), "-I", "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert (done.stdout.split(), done.stderr) == ([devote.__version__, "False"], "")


@pytest.mark.parametrize(
    ("program", "package", "extra"),
    [
        ("from devote import run_sweep", "numpy", "sim"),
        ("import devote; devote.simulate(1, 2, 3)", "numpy", "sim"),
        ("from devote import Device", "cryptography", "fleet"),
    ],
)
def test_what_needs_an_extra_says_which_one_to_install(bare_python, program, package, extra):
    done = subprocess.run([str(bare_python), "-I", "-c", program], capture_output=True, text=True)
    assert f"This needs {package}, which is not installed." in done.stderr
    assert f"pip install 'devote[{extra}]' (in a checkout: pip install -e '.[{extra}]')" in (
        done.stderr
    )


def test_the_version_is_told_without_extras_and_the_command_line_asks_for_its_own(bare_python):
    run = [str(bare_python), "-I", "-m", "devote"]
    ran_version = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert (ran_version.stdout, ran_version.stderr) == (f"devote {devote.__version__}\n", "")
    asked = subprocess.run([*run, "simulate"], capture_output=True, text=True)
    assert asked.returncode == 2
    assert asked.stderr.startswith("devote: This needs rich, which is not installed. Install it:")


def test_python_m_devote_is_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "devote", "problems", "--json"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout[:2]) == (0, "[{")


def test_what_is_published_agrees_with_itself():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {devote.__version__}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
    from devote.extras import EXTRAS

    extras = project["optional-dependencies"]
    for package, extra in EXTRAS.items():
        brought = " ".join(extras[extra])
        names = {"PIL": "pillow", "prometheus_client": "prometheus-client", "llvmlite": "numba"}
        assert names.get(package, package) in brought
    assert set(EXTRAS.values()) | {"all", "dev", "docs", "gpu"} == set(extras)


def test_what_needs_an_extra_is_imported_when_it_is_asked_for():
    from devote import Device, Result, make_plan, run_sweep, simulate

    spec = devote.ExperimentSpec(arms=2, scheme=devote.Decentralized(quorum=2))
    result = simulate(spec, devote.Problem("easy", [0.9, 0.1]), 4, trials=2)
    assert isinstance(result, Result)
    assert all(map(callable, (Device, make_plan, run_sweep)))
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        devote.simulat  # noqa: B018


def test_the_version_is_the_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert devote.__version__ == project["version"]


def test_every_public_name_exists_and_is_documented():
    for name in devote.__all__:
        value = getattr(devote, name)
        if isinstance(value, type) or callable(value):
            assert value.__doc__, name
