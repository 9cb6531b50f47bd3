"""The table of claims, as Markdown for people and JSON for programs."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devote.experiments.claim import Claim, spoken_interval
from devote.experiments.estimates import CONFIDENCE
from devote.experiments.settings import Settings
from devote.experiments.verdicts import VERDICTS, Case


def as_json(claims: Sequence[Claim], settings: Settings, versions: dict[str, str]) -> str:
    """Every claim with every number behind it."""
    document: dict[str, Any] = {
        "trials": settings.trials,
        "players": list(settings.players),
        "seed": settings.seed,
        "versions": versions,
        "verdicts": tally(claims),
        "claims": [claim.to_dict() for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def tally(claims: Sequence[Claim]) -> dict[str, int]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def as_markdown(claims: Sequence[Claim], settings: Settings, versions: dict[str, str]) -> str:
    """The table, with how to read it."""
    counts = ", ".join(f"{n} {verdict}" for verdict, n in tally(claims).items() if n)
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    players = ", ".join(f"{n}" for n in settings.players)
    lines = [
        "# The paper's claims, checked",
        "",
        f"Written by `devote reproduce`: {settings.trials} trials, N = {players}, seed "
        f"{settings.seed}; {made_with}. {len(claims)} sentences: {counts}.",
        "",
        f"Numbers are means with their {CONFIDENCE:.0%} intervals, at the places where they are "
        "lowest and highest. A sentence *holds* if every interval lies within what it asks for, "
        "*does not hold* if every interval lies outside, and else *depends*; what on is said. "
        "`union` and `active` are the two forms of SER3's radius, which the paper does not print. "
        "`claims.json` has every number.",
        "",
        "## At a glance",
        "",
        "| the paper says | verdict |",
        "|---|---|",
        *(f"| {_said(claim)} | {_ruling(claim)} |" for claim in claims),
        "",
        "## In full",
        "",
        "| the paper says | asked for | measured | verdict |",
        "|---|---|---|---|",
        *(_row(claim) for claim in claims),
    ]
    return "\n".join(lines) + "\n"


def _row(claim: Claim) -> str:
    measured = [f"*{_capital(claim.measured)}.*", *map(_case, claim.cases)]
    if claim.note:
        measured.append(f"_{claim.note}_")
    said = f"{_said(claim)} ({claim.where})"
    cells = (said, claim.asked, "<br>".join(measured), _ruling(claim))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _said(claim: Claim) -> str:
    return f"“{claim.quote}”"


def _ruling(claim: Claim) -> str:
    on = f" on: {'; '.join(claim.depends_on)}" if claim.depends_on else ""
    return f"**{claim.verdict}**{on}"


def _case(case: Case) -> str:
    ordered = sorted(case.estimates, key=lambda estimate: estimate.value)
    if not ordered:
        return f"{case.label}: not measured"
    text = spoken_interval(ordered[0])
    lowest, highest = ordered[0].value, ordered[-1].value
    if len(ordered) > 1 and not math.isclose(lowest, highest, rel_tol=1e-9):
        text += f" … {spoken_interval(ordered[-1])}"
    elif len(ordered) > 1:
        text = f"{spoken_interval(ordered[0]).partition(' at ')[0]} everywhere"
    return f"{case.label}: {text} ({case.told})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def write(path: Path, text: str) -> Path:
    """Write a file that appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
