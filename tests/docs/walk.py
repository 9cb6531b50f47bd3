"""Pages as somebody follows them: blocks in order, in one folder, with the extras they name."""

import os
import re
import subprocess
import sys
import tomllib

from tests.docs.markdown import ROOT

BLOCK = re.compile(r"(?:<!-- (file: \S+|background) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
MODULES = {"pillow": "PIL", "nats-py": "nats", "prometheus-client": "prometheus_client"}
BLOCKER = """\
import importlib.abc, sys
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"{{name}} is in no extra of this page", name=name)
sys.meta_path.insert(0, Blocker())
"""


def blocks_of(page):
    """Each block: a mark before it, its language, its text."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def environment(page, folder):
    """One in which nothing can be imported that the page's ``pip install`` does not bring."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = re.search(r"pip\s+install\s+'\.\[([a-z,]+)\]'", text)[1].split(",")
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


def follow(page, folder, changes):
    """Save the files of a page and run its blocks; all that they print."""
    env, printed = environment(page, folder), []
    for mark, language, text in blocks_of(page):
        for before, after in changes.items():
            text = text.replace(before, after)
        if mark:
            (folder / mark.removeprefix("file: ")).write_text(text, encoding="utf-8")
        elif language in ("sh", "python"):
            printed.append(run(language, text, folder, env))
    return "".join(printed)
