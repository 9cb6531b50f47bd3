"""The pages and figures of ``docs/`` that are made from numbers: ``make claims``.

``python -m scripts.pages`` runs the experiments of the paper, what eta buys and the five schemes
anew, which takes minutes, draws their figures, and writes the pages. With ``--pages`` it only
writes the pages, from ``docs/claims.json``; a test holds the committed pages to what that makes.
"""

import json
import re
import shutil
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from devote.studies import report, reproduce
from devote.studies.sweeps import draw_eta, sweep_eta
from scripts.five_schemes import main as five_schemes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
ETA_RUNS = 400
COUNTS = re.compile(r"Of \d+ sentences \d+ hold, \d+ do not, and \d+ depend")
"""The README's sentence on the verdicts."""

HOLDS = "**holds**"


def pages() -> dict[Path, str]:
    """Each page that is made here, from what is committed."""
    document = json.loads((DOCS / "claims.json").read_text(encoding="utf-8"))
    readme = ROOT / "README.md"
    return {
        DOCS / "claims.md": at_a_glance(document),
        readme: COUNTS.sub(counts(document["verdicts"]), readme.read_text(encoding="utf-8")),
    }


def at_a_glance(document: dict[str, Any]) -> str:
    """The sentences that do not simply hold; the site has all, ``claims.json`` every number."""
    words, _, tables = report.as_markdown(document).partition("\n## At a glance\n")
    title, made = words.split("\n\n")[:2]
    rows = [line.strip("| ").split(" | ") for line in tables.partition("\n## ")[0].splitlines()[3:]]
    verdicts = [(row[0], row[1].partition(" (")[0]) for row in rows if row[1:]]
    listed = "\n".join(f"- {quote}: {verdict}" for quote, verdict in verdicts if verdict != HOLDS)
    also = "All others hold. The site (`make docs`) lists them too, with the numbers of each."
    return f"{title}\n\n{made}\n\n{listed}\n\n{also}\n"


def counts(verdicts: dict[str, int]) -> str:
    """How many sentences hold, in words."""
    held, not_held, depend = (verdicts[key] for key in ("holds", "does not hold", "depends"))
    return (
        f"Of {sum(verdicts.values())} sentences {held} hold, {not_held} do not, and {depend} depend"
    )


def measure() -> None:
    """Run and draw everything; keep the numbers, and the figures as SVG and PNG."""
    with TemporaryDirectory() as folder:
        made = reproduce(out=folder)
        shutil.copy(made.folder / "claims.json", DOCS)
        swept = sweep_eta(runs=ETA_RUNS, workers=None)
        swept.save(FIGURES / "privacy.json")
        for path in (*made.figures, *draw_eta(swept, Path(folder) / "privacy.svg")):
            if path.suffix != ".pdf":
                shutil.copy(path, FIGURES)
    five_schemes(FIGURES)


def main() -> None:
    """Measure unless only the pages are asked for; write the pages."""
    parser = ArgumentParser(description="Pages and figures of docs/ that are made from numbers.")
    parser.add_argument("--pages", action="store_true", help="only write what numbers there say")
    if not parser.parse_args().pages:
        measure()
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
