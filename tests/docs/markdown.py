"""The pages of the repository, and what can be read off them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTSIDE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES = [*OUTSIDE, *sorted((ROOT / "docs").glob("*.md"))]


def prose_of(page):
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


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
