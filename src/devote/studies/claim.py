"""Sentences that can be true or false, and what the numbers and their intervals say of them.

A sentence is checked in one or several *cases* (a subroutine, a problem), each measured in one
or several places (numbers of players). In each place the sentence asks for a range of values,
and the whole interval must lie inside it (yes), outside it (no), or the trials cannot tell. All
yes: *holds*. All no: *does not hold*. Else it *depends*, and the code says on what.

The verdict is that of the reading the authors meant, with SER3's radius in the form ``FORM``.
Cases of another ``reading`` or ``form`` have verdicts of their own beside it.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from devote.simulate.estimates import CONFIDENCE, Estimate
from devote.studies.variants import FORM, RADIUS_FORMS, Variant

Verdict: TypeAlias = Literal["holds", "does not hold", "depends", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

ROUNDING = 1e-9
CLEARLY = 1.05
"""One algorithm clearly outperforms another if the other needs 5 % more samples, or worse."""

CHANCE = "chance: more trials would tell"


@dataclass(frozen=True)
class Range:
    """The values for which a sentence is true, ends included."""

    low: float = -math.inf
    high: float = math.inf

    def judge(self, estimate: Estimate) -> bool | None:
        """True: the interval lies inside. False: outside. None: across an end.

        >>> above = Range(low=1.05)
        >>> [above.judge(Estimate(0, *ends)) for ends in ((1.1, 1.2), (0.9, 1.0), (1.0, 1.1))]
        [True, False, None]
        """
        slack = ROUNDING * max(1.0, abs(estimate.value))
        if self.low - slack <= estimate.low and estimate.high <= self.high + slack:
            return True
        if estimate.high < self.low - slack or estimate.low > self.high + slack:
            return False
        return None


@dataclass(frozen=True)
class Case:
    """One way to check a sentence: what was measured, place by place, and what it asks for.

    ``reading`` names a reading of the sentence other than its authors'; ``form`` is the form of
    SER3's radius, and empty where SER3 has no part.
    """

    label: str
    estimates: tuple[Estimate, ...]
    asked: Range
    form: str = ""
    reading: str = ""

    @property
    def outcomes(self) -> tuple[bool | None, ...]:
        """What each place says."""
        return tuple(self.asked.judge(estimate) for estimate in self.estimates)

    @property
    def outcome(self) -> bool | None:
        """True or False where all places agree, None where they do not."""
        return agreement(self.outcomes)

    @property
    def told(self) -> str:
        """The outcome in a word: yes, no, mixed (both, by place), or unclear."""
        if self.outcome is not None:
            return "yes" if self.outcome else "no"
        return "mixed" if {True, False} <= set(self.outcomes) else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """The case as JSON values; an end that is not there is None."""
        ends = {"low": self.asked.low, "high": self.asked.high}
        estimates = [
            {"at": e.at, "value": e.value, "interval": [e.low, e.high], "outcome": outcome}
            for e, outcome in zip(self.estimates, self.outcomes, strict=True)
        ]
        return {
            **{key: getattr(self, key) for key in ("label", "form", "reading", "outcome")},
            **{key: end if math.isfinite(end) else None for key, end in ends.items()},
            "estimates": estimates,
        }


def agreement(outcomes: Sequence[bool | None]) -> bool | None:
    """The outcome that all share, or None if they differ."""
    return outcomes[0] if len(set(outcomes)) == 1 else None


def verdict(cases: Sequence[Case]) -> Verdict:
    """What the cases together say."""
    if not cases or not all(case.estimates for case in cases):
        return "not measured"
    outcome = agreement([case.outcome for case in cases])
    if outcome is None:
        return "depends"
    return "holds" if outcome else "does not hold"


def depends_on(cases: Sequence[Case], *, across: str, along: str) -> tuple[str, ...]:
    """On what a verdict depends: ``across`` cases, ``along`` places, or else on chance."""
    if verdict(cases) != "depends":
        return ()
    told = [frozenset(case.outcomes) - {None} for case in cases]
    reasons = []
    if len({outcomes for outcomes in told if outcomes}) > 1:
        reasons.append(across)
    if any(len(outcomes) == 2 for outcomes in told):
        reasons.append(along)
    return tuple(reasons) or (CHANCE,)


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

    def cases_of(self, form: str = FORM, reading: str = "") -> list[Case]:
        """The cases of one reading, with SER3 in one form; the authors' own by default."""
        return [c for c in self.cases if c.reading == reading and c.form in ("", form)]

    @property
    def verdict(self) -> Verdict:
        """What the numbers say, by the reading the authors meant."""
        return verdict(self.cases_of())

    def verdict_with(self, form: str) -> Verdict:
        """The same with this form of SER3's radius."""
        return verdict(self.cases_of(form))

    @property
    def depends_on(self) -> tuple[str, ...]:
        """On what, if the verdict is "depends"."""
        return depends_on(self.cases_of(), across=self.across, along=self.along)

    @property
    def about_ser3(self) -> bool:
        """Whether SER3, and so the form of its radius, has a part."""
        return any(case.form and not case.reading for case in self.cases)

    @property
    def otherwise(self) -> dict[str, Verdict]:
        """The verdicts of other forms and readings, by name."""
        forms = [form for form in RADIUS_FORMS if form != FORM and self.about_ser3]
        readings = dict.fromkeys(case.reading for case in self.cases if case.reading)
        return {
            **{f"with `{form}`": self.verdict_with(form) for form in forms},
            **{reading: verdict(self.cases_of(reading=reading)) for reading in readings},
        }

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values, every number included."""
        return {
            **{key: getattr(self, key) for key in ("name", "quote", "where", "verdict")},
            "depends_on": list(self.depends_on),
            "otherwise": self.otherwise,
            "missing_n_players": list(self.missing),
            **{key: getattr(self, key) for key in ("uncounted", "measured", "asked")},
            "confidence": CONFIDENCE,
            "cases": [case.to_dict() for case in self.cases],
            "note": self.note,
        }


def cases_for(
    variants: Mapping[str, Variant],
    measure: Callable[[Variant], tuple[Estimate, ...]],
    asked: Range,
    *,
    reading: str = "",
    label: str = "",
) -> tuple[Case, ...]:
    """A case for each variant: ``SUBROUTINES``, or ``RADIUS_FORMS`` for SER3 alone."""
    return tuple(
        Case(f"{label}{name}", measure(variant), asked, variant.form, reading)
        for name, variant in variants.items()
    )


@cache
def sentences() -> dict[str, dict[str, Any]]:
    """The texts of every row, by name: ``sentences.toml``."""
    return tomllib.loads((Path(__file__).parent / "sentences.toml").read_text(encoding="utf-8"))


def judged(name: str, cases: Iterable[Case], **numbers: float) -> Claim:
    """The sentence of this name with its cases; ``numbers`` fill the braces in its texts."""
    texts: dict[str, Any] = {
        key: text.format(**numbers) if isinstance(text, str) else text
        for key, text in sentences()[name].items()
    }
    return Claim(name=name, cases=tuple(cases), **texts)
