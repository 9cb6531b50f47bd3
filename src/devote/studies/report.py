"""The table of claims as a page: ``claims.md``, made from ``claims.json`` and nothing else."""

import math
from collections import Counter
from collections.abc import Sequence

from devote.studies.claim import VERDICTS, Row
from devote.studies.estimates import CONFIDENCE
from devote.studies.study import Settings
from devote.studies.variants import FORM, RADIUS_FORMS


def document_of(claims: Sequence[Row], settings: Settings, versions: dict[str, str]) -> Row:
    """Every claim with every number behind it: ``claims.json``."""
    about = [claim["by_form"] for claim in counted(claims) if claim["by_form"]]
    held = {form: sum(one[form] == "holds" for one in about) for form in RADIUS_FORMS}
    return {
        "trials": settings.trials,
        "n_players": list(settings.players),
        "missing_n_players": list(settings.missing),
        "seed": settings.seed,
        "versions": versions,
        "verdicts": tally(claims),
        "hold_by_form": held,
        "claims": list(claims),
    }


def counted(claims: Sequence[Row]) -> list[Row]:
    """The rows that are sentences of the paper to be judged."""
    return [claim for claim in claims if not claim["uncounted"]]


def tally(claims: Sequence[Row]) -> dict[str, int]:
    """How many of the paper's sentences have each verdict."""
    counts = Counter(claim["verdict"] for claim in counted(claims))
    return {verdict: counts[verdict] for verdict in VERDICTS}


def as_markdown(document: Row) -> str:
    """The page: how to read it, the verdicts at a glance, every row in full."""
    claims = document["claims"]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in document["verdicts"].items() if n)
    made_with = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    players, left_out = (
        ", ".join(map(str, document[key])) for key in ("n_players", "missing_n_players")
    )
    about = sum(bool(claim["by_form"]) for claim in counted(claims))
    held = ", ".join(f"{n} hold with `{form}`" for form, n in document["hold_by_form"].items())
    places = sum(len(case["estimates"]) for claim in counted(claims) for case in claim["cases"])
    n_rows, per_row = len(counted(claims)), 50 * (1 - CONFIDENCE)
    glance = [f"| “{claim['quote']}” | {_ruling(claim)} |" for claim in claims]
    paragraphs = [
        "# The paper's claims, checked",
        f"Written by `devote reproduce`: {document['trials']} trials, N = {players}, seed "
        f"{document['seed']}; {made_with}. `make claims` brings it, `claims.json` and the figures "
        f"up to date in `docs/`. {sum(document['verdicts'].values())} sentences: {counts}.",
        f"Numbers are means with their {100 * CONFIDENCE:g} % intervals, at the places where they "
        "are lowest and highest. A sentence *holds* if every interval lies within what it asks "
        "for, *does not hold* if every interval lies outside, and else *depends*; what on is "
        "named. The verdict is that of the reading the authors meant; where another reading gives "
        "another verdict, that one follows. `claims.json` has every number.",
        "`active` and `union` are two valid forms of SER3's radius; the paper prints none. A "
        f"sentence about SER3 is judged with both. Of these {about} sentences, {held}. Figures "
        f"are drawn with `{FORM}`, with which more hold over the paper's range. Elsewhere in this "
        "project SER3's default is `union`, which takes fewer samples; the study of DSER4 uses it "
        "too.",
        f"Intervals are not widened for their number: {n_rows} rows, {places} intervals. A wrong "
        "*holds* or *does not hold* needs an interval that misses on one side, about "
        f"{per_row:g} % for a row whatever its places; over {n_rows} rows that is at most "
        f"{n_rows * per_row / 100:.1f} wrong rows to be expected, and a family-wise error of at "
        f"most {min(100.0, n_rows * per_row):.0f} %. What a *depends* says of a single place has "
        "no such protection: one interval in twenty may miss.",
        "## At a glance",
        "\n".join(["| the paper says | verdict |", "|---|---|", *glance]),
        "## In full",
        "\n".join(
            ["| the paper says | asked for | measured | verdict |", "|---|---|---|---|"]
            + [_row(claim) for claim in claims]
        ),
    ]
    if left_out:
        paragraphs.insert(
            2,
            f"**The range of players was cut**: the paper's N = {left_out} was not run. Verdicts "
            "that rest on the range are marked *(range cut)*: with the whole range they may "
            "differ.",
        )
    return "\n\n".join(paragraphs) + "\n"


def _row(claim: Row) -> str:
    # The authors' reading first, and in it the form of the radius that is drawn.
    cases = sorted(claim["cases"], key=lambda c: (c["reading"] != "", c["form"] not in ("", FORM)))
    measured = claim["measured"]
    parts = [f"*{measured[:1].upper()}{measured[1:]}.*", *map(_case, cases)]
    if claim["note"]:
        parts.append(f"_{claim['note']}_")
    quoted = f"“{claim['quote']}” ({claim['where']})"
    cells = (quoted, claim["asked"], "<br>".join(parts), _ruling(claim))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _ruling(claim: Row) -> str:
    verdict, by_form = claim["verdict"], claim["by_form"]
    on = f" on: {'; '.join(claim['depends_on'])}" if claim["depends_on"] else ""
    cut = " *(range cut)*" if claim["missing_n_players"] and verdict != "not measured" else ""
    others = []
    if len(set(by_form.values())) > 1:
        others += [f"with `{form}`: {v}" for form, v in by_form.items()]
    others += [f"{name}: {v}" for name, v in claim["otherwise"].items() if v != verdict]
    beside = f" ({'; '.join(others)})" if others else ""
    uncounted = f", not counted: {claim['uncounted']}" if claim["uncounted"] else ""
    return f"**{verdict}**{on}{cut}{beside}{uncounted}"


def _case(case: Row) -> str:
    label = f"{case['reading']}; {case['label']}" if case["reading"] else case["label"]
    ordered = sorted(case["estimates"], key=lambda estimate: estimate["value"])
    if not ordered:
        return f"{label}: not measured"
    lowest, highest = ordered[0], ordered[-1]
    text = interval_text(lowest)
    if not math.isclose(lowest["value"], highest["value"], rel_tol=1e-9):
        text += f" … {interval_text(highest)}"
    elif len(ordered) > 1:
        text = f"{interval_text({**lowest, 'at': ''})} everywhere"
    return f"{label}: {text} ({outcome_text(case)})"


def outcome_text(case: Row) -> str:
    """The outcome in a word: yes, no, mixed (both, by place), or unclear."""
    if case["outcome"] is not None:
        return "yes" if case["outcome"] else "no"
    return "mixed" if {True, False} <= {e["outcome"] for e in case["estimates"]} else "unclear"


def number_text(value: float) -> str:
    """A number as a person writes it: three significant digits, thousands set apart.

    >>> [number_text(x) for x in (0.98765, 12.345, 1584.6, 3962000.0, 252.0)]
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


def interval_text(estimate: Row) -> str:
    """A number with its interval, which is left out where there is no doubt.

    >>> interval_text({"value": 1.01, "interval": [0.99, 1.03], "at": "N = 32"})
    '1.01 [0.990, 1.03] at N = 32'
    """
    text, (low, high) = number_text(estimate["value"]), estimate["interval"]
    if low != high:
        text += f" [{number_text(low)}, {number_text(high)}]"
    return f"{text} at {estimate['at']}" if estimate["at"] else text
