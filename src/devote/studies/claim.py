"""A sentence that can be true or false, and what the run says about it."""

import math
from dataclasses import dataclass
from typing import Any

from devote.studies.estimates import CONFIDENCE, Estimate
from devote.studies.variants import FORM, RADIUS_FORMS
from devote.studies.verdicts import Case, Verdict, depends_on, under, verdict


@dataclass(frozen=True)
class Claim:
    """One row of the table of claims.

    ``quote`` is the paper's sentence and ``where`` its place. ``measured`` says what the numbers
    are, ``asked`` when they count for the sentence. ``across`` names what tells cases apart,
    ``along`` what tells the places within one apart. ``over_players`` is whether the row rests on
    the range of numbers of players, ``missing`` which of the paper's numbers were left out, and
    ``uncounted`` why the tally leaves the row out. The verdict follows from the numbers.
    """

    name: str
    quote: str
    where: str
    measured: str
    asked: str
    cases: tuple[Case, ...]
    across: str = "case"
    along: str = "number of players"
    note: str = ""
    over_players: bool = True
    missing: tuple[int, ...] = ()
    uncounted: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the numbers say, by the reading the authors meant."""
        return self.verdict_with(FORM)

    def verdict_with(self, form: str) -> Verdict:
        """The same with this form of SER3's radius."""
        return verdict(under(self.cases, form=form))

    @property
    def depends_on(self) -> tuple[str, ...]:
        """On what, if the verdict is "depends"."""
        return depends_on(under(self.cases, form=FORM), across=self.across, along=self.along)

    @property
    def about_ser3(self) -> bool:
        """Whether SER3, and so the form of its radius, has a part."""
        return any(case.form and not case.reading for case in self.cases)

    @property
    def otherwise(self) -> dict[str, Verdict]:
        """The verdicts of other forms and readings, by name."""
        forms = [form for form in RADIUS_FORMS if form != FORM and self.about_ser3]
        readings = dict.fromkeys(case.reading for case in self.cases if case.reading)
        found = {f"with `{form}`": self.verdict_with(form) for form in forms}
        for reading in readings:
            found[reading] = verdict(under(self.cases, form=FORM, reading=reading))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values, every number included."""
        return {
            "name": self.name,
            "quote": self.quote,
            "where": self.where,
            "verdict": self.verdict,
            "depends_on": list(self.depends_on),
            "otherwise": self.otherwise,
            "missing_players": list(self.missing),
            "uncounted": self.uncounted,
            "measured": self.measured,
            "asked": self.asked,
            "confidence": CONFIDENCE,
            "cases": [_case(case) for case in self.cases],
            "note": self.note,
        }


def _case(case: Case) -> dict[str, Any]:
    return {
        "label": case.label,
        "form": case.form,
        "reading": case.reading,
        "outcome": case.outcome,
        "low": _finite(case.asked.low),
        "high": _finite(case.asked.high),
        "estimates": [
            {
                "at": e.at,
                "value": e.value,
                "interval": [e.low, e.high],
                "outcome": case.asked.judge(e),
            }
            for e in case.estimates
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
