"""The guide is a notebook: its blocks run in one session, and print what it says they print."""

import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
FENCE = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)


def test_the_guide_runs_and_prints_what_it_says(tmp_path):
    expected = ""
    script = ""
    for name, language, body in FENCE.findall(GUIDE.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        elif language == "python":
            script += body + "\n"
        elif language == "text":
            expected += body
    assert script
    assert expected
    (tmp_path / "guide.py").write_text(script, encoding="utf-8")
    # In a process of its own: a rule registered here would be known to every later test.
    ran = subprocess.run(
        [sys.executable, "-W", "error", "guide.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == expected
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
