"""The pages of the site that stand outside docs/: the README is its home page.

In the repository they link to ``docs/page.md``, and pages link to them as ``../README.md``; here
all lie in one folder.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
HOME = "---\nhide: [navigation]\n---\n\n"
TARGET = re.compile(r"""(\]\(|src="|srcset="|href=")([^)"\s]+)""")


FILE = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./)?(?!docs/|figures/)[\w-]+(?:/[\w./-]*)?\)")
"""A link to a file or a folder of the repository, such as ``[deploy](../deploy)``."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside, their links turned to where things lie on the site."""
    root = Path(config.config_file_path).parent
    for name, page in OUTSIDE.items():
        text = HOME * (page == "index.md") + (root / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_turned(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of docs/: to those pages, and to files, which the site does not have."""
    return _turned(markdown)


def _turned(text: str) -> str:
    return TARGET.sub(_inward, FILE.sub(r"\1", text))


def _inward(link: re.Match[str]) -> str:
    before, target = link.groups()
    path, hash_, anchor = target.removeprefix("../").removeprefix("docs/").partition("#")
    return f"{before}{OUTSIDE.get(path, path)}{hash_}{anchor}"
