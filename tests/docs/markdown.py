"""The pages of the repository, and what can be read off them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
]
BLOCK = re.compile(r"(?:<!-- (file: \S+|background) -->\n)?^```(\w*)\n(.*?)^```", re.M | re.S)


def text_of(page):
    """What a page says."""
    return page.read_text(encoding="utf-8")


def words_of(page):
    """The same without line breaks."""
    return " ".join(text_of(page).split())


def blocks_of(page):
    """Each block: a mark before it, its language, its text, where the text is."""
    return [(*found.groups(default=""), found.span(3)) for found in BLOCK.finditer(text_of(page))]


def prose_of(page):
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)


def links_of(page):
    """Where a page leads within the repository: (file, anchor)."""
    text = re.sub(r"`[^`\n]*`", "", prose_of(page))
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    targets += re.findall(r'\b(?:src|srcset|href)="([^"]+)"', text)
    for target in targets:
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors_of(page):
    """The anchors of a page, as code hosts make them of its headings."""
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", prose_of(page), flags=re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        taken = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in anchors)
        anchors.add(f"{slug}-{taken}" if taken else slug)
    return anchors
