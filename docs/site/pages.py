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


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside, their links turned to where things lie on the site."""
    root = Path(config.config_file_path).parent
    for name, page in OUTSIDE.items():
        text = HOME * (page == "index.md") + (root / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=TARGET.sub(_inward, text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of docs/ to those pages."""
    return TARGET.sub(_inward, markdown)


def _inward(link: re.Match[str]) -> str:
    before, target = link.groups()
    path, hash_, anchor = target.removeprefix("../").removeprefix("docs/").partition("#")
    return f"{before}{OUTSIDE.get(path, path)}{hash_}{anchor}"
