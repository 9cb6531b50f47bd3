"""A page as a notebook: its files, its Python and its commands, run in a process of their own."""

import re
import subprocess
import sys

FENCE = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
COMMAND = "import subprocess, sys\nsubprocess.run({}, check=True, stdout=subprocess.DEVNULL)\n"


def files_of(page):
    """The files that a page asks to be saved, by name."""
    blocks = FENCE.findall(page.read_text(encoding="utf-8"))
    return {name: body for name, _, body in blocks if name}


def run_page(page, folder, files=()):
    """Run a page in a folder; what it printed, and what it says it prints."""
    expected = script = ""
    for name, body in {**dict(files), **files_of(page)}.items():
        (folder / name).write_text(body, encoding="utf-8")
    for name, language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python" and not name:
            script += body + "\n"
        elif language == "text":
            expected += body
        elif language == "sh":
            for line in body.splitlines():
                program, *words = line.split()
                assert program == "devote"
                script += COMMAND.format(f"[sys.executable, '-m', 'devote', *{words}]")
    assert script
    (folder / "page.py").write_text(script, encoding="utf-8")
    # In a process of its own: a rule registered here would be known to every later test.
    ran = subprocess.run(
        [sys.executable, "-W", "error", "page.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, expected
