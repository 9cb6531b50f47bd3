"""What a newcomer writes on the first day works."""

import subprocess
import sys
from pathlib import Path

from tests.simulator.rule_files import write_rule


def test_the_newcomers_script_runs(tmp_path):
    write_rule(tmp_path, "my_rule")
    script = tmp_path / "newcomer.py"
    script.write_text((Path(__file__).parent / "newcomer.py").read_text(encoding="utf-8"))
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "Stopped after 4 of 16 trials. They are kept in sweep.jsonl. "
        "Run the same again to go on from there.",
        "on disk: 4",
        "cells: 8 rows: 48",
        "paired t test 6 True",
        "Clopper-Pearson",
    ]
    assert (tmp_path / "samples.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 49
