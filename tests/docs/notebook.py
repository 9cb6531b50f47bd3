"""Pages as notebooks: their files, Python and commands, run in order in one process.

Each page has a folder and a namespace of its own. After a change of what is printed,
``python -m tests.docs.notebook docs/page.md ...`` writes it into the pages.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.markdown import blocks_of, text_of

CUT = "...\n"
END = "\x1e\n"
"""Printed after each block, to tell what each printed."""

SESSION = """\
import os, subprocess, sys
def devote(*words):
    words = [sys.executable, "-m", "devote", *words]
    print(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout, end="")
for name, cells in {pages!r}.items():
    os.makedirs(name, exist_ok=True)
    os.chdir(name)
    sys.path.insert(0, os.getcwd())
    there = {{"__name__": "__main__", "devote_command": devote}}
    for cell in cells:
        exec(compile(cell, name + ".md", "exec"), there)
        print({end!r}, end="", flush=True)
    sys.path.pop(0)
    os.chdir("..")
"""


def cells_of(page):
    """What runs, in order: its code, what it prints (None: anything), where the page says so."""
    cells = []
    for mark, language, text, place in blocks_of(page):
        if language == "text":
            cells[-1][1:] = [text, place]
        elif language == "python" and not mark:
            cells.append([text, "", None])
        elif language == "sh":
            cells.append([_commands(text), None, None])
    return cells


def _commands(text):
    lines = [line.split() for line in text.replace("\\\n", " ").splitlines()]
    assert all(line[0] == "devote" for line in lines), text
    return "\n".join(f"devote_command(*{line[1:]!r})" for line in lines)


def run_pages(pages, folder):
    """What each cell of each page prints.

    In a process of its own: a rule registered here would be known to every later test. In one for
    all pages, because a process compiles each rule once.
    """
    cells = {page.stem: [code for code, _, _ in cells_of(page)] for page in pages}
    for page in pages:
        (folder / page.stem).mkdir(exist_ok=True)
        for mark, _, text, _ in blocks_of(page):
            if mark:
                name = mark.removeprefix("file: ")
                (folder / page.stem / name).write_text(text, encoding="utf-8")
    script = folder / "session.py"
    script.write_text(SESSION.format(pages=cells, end=END), encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )
    assert ran.returncode == 0, ran.stderr
    printed = iter(ran.stdout.split(END))
    return {page: [next(printed) for _ in cells[page.stem]] for page in pages}


def prints(expected, printed):
    """Whether that is what the page says; ``...`` on a line stands for lines left out."""
    pattern = "(?:.*\n)*".join(re.escape(part) for part in expected.split(CUT))
    return re.fullmatch(pattern, printed) is not None


def write(page, printed):
    """Put what was printed into the page."""
    text = text_of(page)
    for (_, expected, place), output in reversed(list(zip(cells_of(page), printed, strict=True))):
        if place and CUT not in expected:
            text = text[: place[0]] + output + text[place[1] :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for one, output in run_pages([Path(word) for word in sys.argv[1:]], Path(scratch)).items():
            write(one, output)
