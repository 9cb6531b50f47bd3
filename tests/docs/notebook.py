"""Pages as notebooks: their files, Python and commands, run in order in one process.

Each page has a folder and a namespace of its own. After a change of what is printed,
``python -m tests.docs.notebook docs/page.md ...`` writes it into the pages.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CUT = "...\n"
END = "\x1e\n"
"""Printed after each block, to tell what each printed."""

SESSION = """\
import os, subprocess, sys
def devote(*words):
    words = [sys.executable, "-m", "devote", *words]
    print(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout, end="")
for name, blocks in {pages!r}.items():
    os.makedirs(name, exist_ok=True)
    os.chdir(name)
    sys.path.insert(0, os.getcwd())
    there = {{"__name__": "__main__", "devote_command": devote}}
    for block in blocks:
        exec(compile(block, name + ".md", "exec"), there)
        print({end!r}, end="", flush=True)
    sys.path.pop(0)
    os.chdir("..")
"""


def blocks_of(page):
    """Each block of a page, in order: name of the file it is, language, text, place."""
    text = page.read_text(encoding="utf-8")
    return [(*found.groups(), found.span(3)) for found in FENCE.finditer(text)]


def files_of(page):
    """The files that a page asks to be saved, by name."""
    return {name: body for name, _, body, _ in blocks_of(page) if name}


def run_pages(pages, folder):
    """Run pages in a folder; per page what each block printed, and what it says it prints.

    In a process of its own: a rule registered here would be known to every later test. In one for
    all pages, because a process compiles each rule once.
    """
    scripts = {page.stem: _scripts(page) for page in pages}
    for page in pages:
        home = folder / page.stem
        home.mkdir(exist_ok=True)
        for name, body in files_of(page).items():
            (home / name).write_text(body, encoding="utf-8")
    script = folder / "session.py"
    script.write_text(SESSION.format(pages=scripts, end=END), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    printed = iter(ran.stdout.split(END))
    return {page: [next(printed) for _ in scripts[page.stem]] for page in pages}


def expected_of(page):
    """What each block that runs is said to print; None where a command's output is left out."""
    said = []
    for name, language, body, _ in blocks_of(page):
        if _runs(name, language):
            said.append("" if language == "python" else None)
        elif language == "text":
            said[-1] = body
    return said


def prints(expected, printed):
    """Whether a block prints what the page says; ``...`` on a line stands for lines left out."""
    parts = expected.split(CUT)
    if len(parts) == 1:
        return expected == printed
    pattern = "(?:.*\n)*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, printed) is not None


def _runs(name, language):
    return not name and language in ("python", "sh")


def _scripts(page):
    return [
        body if language == "python" else _commands(body)
        for name, language, body, _ in blocks_of(page)
        if _runs(name, language)
    ]


def _commands(body):
    lines = [line.split() for line in body.replace("\\\n", " ").splitlines()]
    assert all(line[0] == "devote" for line in lines), body
    return "\n".join(f"devote_command(*{line[1:]!r})" for line in lines)


def write(page, printed):
    """Put what was printed into the page."""
    text, said = page.read_text(encoding="utf-8"), iter(printed)
    now, places = "", []
    for name, language, _, place in blocks_of(page):
        if _runs(name, language):
            now = next(said)
        elif language == "text":
            places.append((place, now))
    for (begin, end), output in reversed(places):
        if CUT not in text[begin:end]:
            text = text[:begin] + output + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for one, output in run_pages([Path(word) for word in sys.argv[1:]], Path(scratch)).items():
            write(one, output)
