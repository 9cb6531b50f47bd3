"""docs/serverless.md as somebody follows it, block by block, in one folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs" / "serverless.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.M | re.S)


def blocks() -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in BLOCK.finditer(DOC.read_text())]


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "devote").write_text(f'#!/bin/sh\nexec {sys.executable} -m devote "$@"\n')
    (tmp_path / "bin" / "devote").chmod(0o755)
    said = []
    for kind, text in blocks():
        command = ["sh", "-ec", text] if kind == "sh" else [sys.executable, "-c", text]
        ran = subprocess.run(
            command,
            cwd=tmp_path,
            env={**_environment(), "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ran.returncode == 0, f"{text}\n{ran.stdout}{ran.stderr}"
        said.append(ran.stdout + ran.stderr)
    assert any("the answer: green" in text for text in said)
    assert any("never decide differently" in text for text in said)
    assert any("silent" in text for text in said)  # nobody runs any more
    assert any("signed: 10" in text for text in said)


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "PATH"}


def test_the_page_links_to_what_is_there():
    text = DOC.read_text()
    for target in re.findall(r"\]\(#([^)]+)\)", text):
        heads = [
            re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-")
            for head in re.findall(r"^#+ (.*)$", text, re.M)
        ]
        assert target in heads, target
