"""The devices that ship, each with some lines of its source changed."""

import inspect
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from tests.browser.site import ROOT
from tests.tools import missing

SOURCE = ROOT / "clients/js"


def replaced(text: str, old: str, new: str) -> str:
    """A text with another in place of one that is there once."""
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


def change_python(monkeypatch, owner: Any, name: str, *edits: tuple[str, str]) -> None:
    """Run a function of a module, or a method of a class, with these texts replaced."""
    function = getattr(owner, name)
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in edits:
        text = replaced(text, old, new)
    found: dict[str, Any] = {}
    exec(compile(text, f"{name}, changed", "exec"), function.__globals__, found)
    monkeypatch.setattr(owner, name, found[name])


def change_browser(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """The browser client built with texts replaced: file, old, new."""
    build = SOURCE / "node_modules/.bin/esbuild"
    if not build.exists():
        missing("The browser client is changed and built with npm's modules: make client")
    texts = {path.name: path.read_text() for path in (SOURCE / "src").glob("*.ts")}
    for file, old, new in edits:
        texts[file] = replaced(texts[file], old, new)
    for name, text in texts.items():
        (folder / name).write_text(text)
    built = folder / "devote.js"
    command = [build, folder / "index.ts", "--bundle", "--format=esm", f"--outfile={built}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return built
