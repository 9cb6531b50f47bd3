"""Pages as somebody follows them: blocks in order, in one folder, with the extras they name."""

import os
import re
import subprocess
import sys
import tomllib

from tests.docs.markdown import DOCS, ROOT, blocks_of, words_of

MODULES = {"pillow": "PIL", "nats-py": "nats", "prometheus-client": "prometheus_client"}
BLOCKER = """\
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {blocked!r} else find(name, path, target)
PathFinder.find_spec = find_spec
"""


def environment(page, folder):
    """One in which nothing can be imported that the page's ``pip install`` does not bring."""
    named = re.search(r"pip install '\.\[([a-z,]+)\]'", words_of(DOCS / page))[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: {re.match(r"[\w-]+", package)[0] for package in packages}
        for extra, packages in project["optional-dependencies"].items()
        if extra not in ("all", "dev", "docs", "gpu")
    }
    brought = set().union(*(extras[extra] for extra in named))
    blocked = {MODULES.get(name, name) for name in set().union(*extras.values()) - brought}
    place = folder / "only" / page
    place.mkdir(parents=True, exist_ok=True)
    (place / "sitecustomize.py").write_text(BLOCKER.format(blocked=blocked), encoding="utf-8")
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(place)}


def steps(page, folder, change):
    """Save the files of a page; yield its other blocks, with the changes that a test needs."""
    for mark, language, text, _ in blocks_of(DOCS / page):
        if mark.startswith("file: "):
            (folder / mark.removeprefix("file: ")).write_text(change(text), encoding="utf-8")
        elif language in ("sh", "python"):
            yield mark, language, change(text)


def run(language, text, folder, env):
    """Run a block; what it prints."""
    shell = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    ran = subprocess.run(
        [*shell[language], text],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, f"{text}\n{ran.stdout}"
    return ran.stdout


def follow(page, folder, change=str):
    """Run all blocks of a page; all that they print."""
    env = environment(page, folder)
    found = steps(page, folder, change)
    return "".join(run(language, text, folder, env) for _, language, text in found)
