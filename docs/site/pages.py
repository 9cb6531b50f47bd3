"""What the site has beside the pages of docs/: pages from elsewhere, and typeset formulas.

The README is the home page. In the repository it links to ``docs/page.md``, and pages link to it as
``../README.md``; here all lie in one folder. ``paper_map.md`` is made here, and ``claims.md`` has
its long table here. Formulas are typeset by KaTeX, which ``make docs`` installs by npm; without it
they stay as they are written.
"""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
KATEX = Path(__file__).with_name("node_modules") / "katex" / "dist"
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "scripts/paper_map.toml": "paper_map.md",
}
HOME = "---\nhide: [navigation]\n---\n\n"
TARGET = re.compile(r"""(\]\(|src="|srcset="|href=")([^)"\s]+)""")
FILE = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./)?(?!docs/|figures/)[\w-]+(?:/[\w./-]*)?\)")
"""A link to a file or a folder of the repository, such as ``[deploy](../deploy)``."""
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside and those that are made."""
    sys.path.insert(0, str(ROOT))  # mkdocs puts another path there while it loads this file
    from scripts import paper_map

    from devote.studies import report

    document = json.loads((ROOT / "docs/claims.json").read_text(encoding="utf-8"))
    files.remove(files.get_file_from_path("claims.md"))
    made = {"claims.md": report.as_markdown(document), "paper_map.md": paper_map.page()}
    for name, page in OUTSIDE.items():
        if name.endswith(".md"):
            text = (ROOT / name).read_text(encoding="utf-8")
            made[page] = HOME * (page == "index.md") + text
    for page, text in made.items():
        files.append(File.generated(config, page, content=_turned(text)))
    for path in (*KATEX.glob("katex.min.css"), *KATEX.glob("fonts/*.woff2")):
        name = f"site/katex/{path.relative_to(KATEX).as_posix()}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
        if path.suffix == ".css":
            config.extra_css.append(name)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of docs/: to those pages, and to files, which the site does not have."""
    return _turned(markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as HTML, which needs the style sheet and the fonts, and no script."""
    found = [(html.unescape(tex), tag == "div") for tag, tex in FORMULA.findall(content)]
    if not found or not KATEX.exists():
        return content
    typeset = iter(_typeset(found))
    return FORMULA.sub(lambda _: next(typeset), content)


def _typeset(formulas: list[tuple[str, bool]]) -> list[str]:
    command = ["node", str(Path(__file__).with_name("formulas.mjs"))]
    ran = subprocess.run(
        command, input=json.dumps(formulas), capture_output=True, text=True, check=True
    )
    return list(json.loads(ran.stdout))


def _turned(text: str) -> str:
    for name, page in OUTSIDE.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}", f"]({page}", text)
    return TARGET.sub(_inward, FILE.sub(r"\1", text))


def _inward(link: re.Match[str]) -> str:
    before, target = link.groups()
    path, hash_, anchor = target.removeprefix("../").removeprefix("docs/").partition("#")
    return f"{before}{OUTSIDE.get(path, path)}{hash_}{anchor}"
