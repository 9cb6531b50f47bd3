"""The table of claims, as Markdown for people and JSON for programs."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from devote.simulate.estimates import CONFIDENCE, Estimate
from devote.studies.claim import VERDICTS, Case, Claim
from devote.studies.study import Settings
from devote.studies.variants import FORM, RADIUS_FORMS


def as_json(claims: Sequence[Claim], settings: Settings, versions: dict[str, str]) -> str:
    """Every claim with every number behind it."""
    document: dict[str, Any] = {
        "trials": settings.trials,
        "n_players": list(settings.players),
        "missing_n_players": list(settings.missing),
        "seed": settings.seed,
        "versions": versions,
        "verdicts": tally(claims),
        "hold_by_form": hold_by_form(claims),
        "claims": [claim.to_dict() for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def tally(claims: Sequence[Claim]) -> dict[str, int]:
    """How many of the paper's sentences have each verdict."""
    counts = Counter(claim.verdict for claim in claims if not claim.uncounted)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def hold_by_form(claims: Sequence[Claim]) -> dict[str, int]:
    """How many of the sentences about SER3 hold with each form of its radius."""
    about = [claim for claim in claims if claim.about_ser3 and not claim.uncounted]
    return {form: sum(c.verdict_with(form) == "holds" for c in about) for form in RADIUS_FORMS}


def as_markdown(claims: Sequence[Claim], settings: Settings, versions: dict[str, str]) -> str:
    """The table, with how to read it."""
    counts = ", ".join(f"{n} {verdict}" for verdict, n in tally(claims).items() if n)
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    players, left_out = (", ".join(map(str, n)) for n in (settings.players, settings.missing))
    cut = [
        f"**The range of players was cut**: the paper's N = {left_out} was not run. Verdicts that "
        "rest on the range are marked *(range cut)*: with the whole range they may differ.",
        "",
    ]
    lines = [
        "# The paper's claims, checked",
        "",
        f"Written by `devote reproduce`: {settings.trials} trials, N = {players}, seed "
        f"{settings.seed}; {made_with}. "
        f"{sum(tally(claims).values())} sentences: {counts}.",
        "",
        *(cut if settings.missing else ()),
        f"Numbers are means with their {100 * CONFIDENCE:g} % intervals, at the places where they "
        "are lowest and highest. A sentence *holds* if every interval lies within what it asks "
        "for, *does not hold* if every interval lies outside, and else *depends*; what on is said. "
        "The verdict is that of the reading the authors meant; where another reading gives "
        "another verdict, that one follows. `claims.json` has every number.",
        "",
        _forms(claims),
        "",
        _multiplicity(claims),
        "",
        "## At a glance",
        "",
        "| the paper says | verdict |",
        "|---|---|",
        *(f"| “{claim.quote}” | {_ruling(claim)} |" for claim in claims),
        "",
        "## In full",
        "",
        "| the paper says | asked for | measured | verdict |",
        "|---|---|---|---|",
        *(_row(claim) for claim in claims),
    ]
    return "\n".join(lines) + "\n"


def _forms(claims: Sequence[Claim]) -> str:
    about = sum(claim.about_ser3 and not claim.uncounted for claim in claims)
    counts = ", ".join(f"{n} hold with `{form}`" for form, n in hold_by_form(claims).items())
    return (
        "`active` and `union` are two valid forms of SER3's radius; the paper prints none. Of "
        f"the {about} sentences about SER3, {counts}. Verdicts and figures are those of "
        f"`{FORM}`, with which more hold over the paper's range. Elsewhere in this project SER3's "
        "default is `union`, which takes fewer samples; the study of DSER4 uses it too."
    )


def _multiplicity(claims: Sequence[Claim]) -> str:
    judged = [claim for claim in claims if not claim.uncounted]
    places = sum(len(case.estimates) for claim in judged for case in claim.cases)
    per_row = 50 * (1 - CONFIDENCE)
    return (
        f"Intervals are not widened for their number: {len(judged)} rows, {places} intervals. A "
        "wrong *holds* or *does not hold* needs an interval that misses on one side, about "
        f"{per_row:g} % for a row whatever its places; over {len(judged)} rows that is at most "
        f"{len(judged) * per_row / 100:.1f} wrong rows to be expected, and a family-wise error of "
        f"at most {min(100.0, len(judged) * per_row):.0f} %. What a *depends* says of a single "
        "place has no such protection: one interval in twenty may miss."
    )


def _row(claim: Claim) -> str:
    # The reading that counts first.
    cases = sorted(claim.cases, key=lambda case: (case.reading != "", case.form not in ("", FORM)))
    measured = [f"*{claim.measured[:1].upper()}{claim.measured[1:]}.*", *map(_case, cases)]
    if claim.note:
        measured.append(f"_{claim.note}_")
    said = f"“{claim.quote}” ({claim.where})"
    cells = (said, claim.asked, "<br>".join(measured), _ruling(claim))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _ruling(claim: Claim) -> str:
    on = f" on: {'; '.join(claim.depends_on)}" if claim.depends_on else ""
    cut = " *(range cut)*" if claim.missing and claim.verdict != "not measured" else ""
    others = [f"{name}: {v}" for name, v in claim.otherwise.items() if v != claim.verdict]
    beside = f" ({'; '.join(others)})" if others else ""
    uncounted = f", not counted: {claim.uncounted}" if claim.uncounted else ""
    return f"**{claim.verdict}**{on}{cut}{beside}{uncounted}"


def _case(case: Case) -> str:
    label = f"{case.reading}; {case.label}" if case.reading else case.label
    ordered = sorted(case.estimates, key=lambda estimate: estimate.value)
    if not ordered:
        return f"{label}: not measured"
    lowest, highest = ordered[0], ordered[-1]
    text = spoken_interval(lowest)
    if not math.isclose(lowest.value, highest.value, rel_tol=1e-9):
        text += f" … {spoken_interval(highest)}"
    elif len(ordered) > 1:
        text = f"{spoken_interval(lowest.located(''))} everywhere"
    return f"{label}: {text} ({case.told})"


def spoken(value: float) -> str:
    """A number as a person writes it: three digits that count, thousands set apart.

    >>> [spoken(x) for x in (0.98765, 12.345, 1584.6, 3962000.0, 252.0)]
    ['0.988', '12.3', '1,585', '3,960,000', '252']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if float(value).is_integer() and abs(value) < 10_000:
        return f"{value:,.0f}"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 4:
        value = round(value, 2 - magnitude)
    return f"{value:,.{min(6, max(0, 2 - magnitude))}f}"


def spoken_interval(estimate: Estimate) -> str:
    """A number with its interval, which is left out where there is no doubt.

    >>> spoken_interval(Estimate(1.01, 0.99, 1.03, "N = 32"))
    '1.01 [0.990, 1.03] at N = 32'
    """
    text = spoken(estimate.value)
    if estimate.low != estimate.high:
        text += f" [{spoken(estimate.low)}, {spoken(estimate.high)}]"
    return f"{text} at {estimate.at}" if estimate.at else text
