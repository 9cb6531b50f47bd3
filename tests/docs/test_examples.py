"""The scripts in examples/ run as they are, and leave what they say."""

import subprocess
import sys

import pytest
from tests.docs.markdown import ROOT

EXAMPLES = {
    "first_steps": (["samples in the first run"], ["arms_left.png", "trials.csv"]),
    "your_own_clicks": (["<Log of 5,000 events, 3 arms>", "answers {'blue'}"], ["clicks.csv"]),
    "a_sweep": (["kept: 6 runs", "64 players, eta 0.9"], ["sweep.png", "sweep.csv"]),
}


def test_every_script_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_script_runs(name, tmp_path):
    script = ROOT / "examples" / f"{name}.py"
    assert script.read_text(encoding="utf-8").startswith("# %% [markdown]\n# # ")
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    words, files = EXAMPLES[name]
    assert all(word in ran.stdout for word in words), ran.stdout
    assert all((tmp_path / file).stat().st_size > 100 for file in files)
