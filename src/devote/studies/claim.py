"""Sentences that can be true or false, and what the numbers and their intervals say of them.

A sentence is checked in one or several *cases* (a subroutine, a problem), each measured in one
or several places (numbers of players). In each place the sentence asks for a range of values,
and the whole interval must lie inside it (yes), outside it (no), or the trials cannot tell. All
yes: *holds*. All no: *does not hold*. Else it *depends*, and the code says on what.

The paper does not print the radius of SER3, and two forms of it are valid. A sentence about SER3
is checked with both, so its verdict is *depends* where they disagree. Cases of another ``reading``
than the authors' have a verdict of their own.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from devote.studies.estimates import CONFIDENCE, Estimate
from devote.studies.variants import FORM, RADIUS_FORMS, Variant

Row: TypeAlias = dict[str, Any]
"""A claim, a case or an estimate as JSON values."""

Verdict: TypeAlias = Literal["holds", "does not hold", "depends", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

ROUNDING = 1e-9
CLEARLY = 1.05
"""One algorithm clearly outperforms another if the other needs 5 % more samples, or worse."""

CHANCE = "chance: more trials would tell"
RADIUS = "SER3's radius, which is not printed"


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

    ``form`` is the form of SER3's radius, and empty where SER3 has no part. ``reading`` names a
    reading of the sentence other than its authors'.
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
        return self.outcomes[0] if len(set(self.outcomes)) == 1 else None

    def to_dict(self) -> Row:
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


def verdict(cases: Sequence[Case]) -> Verdict:
    """What the cases together say."""
    if not cases or not all(case.estimates for case in cases):
        return "not measured"
    outcomes = {case.outcome for case in cases}
    if outcomes == {True}:
        return "holds"
    return "does not hold" if outcomes == {False} else "depends"


def with_form(cases: Iterable[Case], form: str) -> list[Case]:
    """The cases in which SER3 has this form of its radius, or no part."""
    return [case for case in cases if case.form in ("", form)]


def depends_on(cases: Sequence[Case], *, across: str, along: str) -> tuple[str, ...]:
    """On what a verdict depends: the radius, ``across`` cases, ``along`` places, or chance.

    Cases are compared with one form of the radius, so that the radius alone is no difference
    between them.
    """
    if verdict(cases) != "depends":
        return ()

    def decided(some: Iterable[Case]) -> set[frozenset[bool | None]]:
        return {frozenset(case.outcomes) - {None} for case in some} - {frozenset()}

    by_form = {frozenset().union(*decided(with_form(cases, form))) for form in RADIUS_FORMS}
    differs = {
        RADIUS: len(by_form - {frozenset()}) > 1,
        across: len(decided(with_form(cases, FORM))) > 1,
        along: any(len(outcomes) == 2 for outcomes in decided(cases)),
    }
    return tuple(reason for reason, so in differs.items() if so) or (CHANCE,)


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


def judged(name: str, cases: Iterable[Case], **numbers: float) -> Row:
    """The sentence of this name with its cases, as a row of ``claims.json``.

    ``numbers`` fill the braces in its texts. ``verdict`` is what the numbers say by the reading the
    authors meant, ``by_form`` the same with each form of SER3's radius alone (empty where SER3 has
    no part), ``otherwise`` that of other readings. ``reproduce`` fills in ``missing_n_players``.
    """
    texts = {"across": "case", "along": "number of players", "note": "", "uncounted": ""}
    texts |= sentences()[name] | {"name": name}
    filled: dict[str, Any] = {
        key: text.format(**numbers) if isinstance(text, str) else text
        for key, text in texts.items()
    }
    readings: dict[str, list[Case]] = {"": []}
    for case in cases:
        readings.setdefault(case.reading, []).append(case)
    meant = readings.pop("")
    forms = RADIUS_FORMS if any(case.form for case in meant) else ()
    return {
        **{key: filled[key] for key in ("name", "quote", "where")},
        "verdict": verdict(meant),
        "depends_on": list(depends_on(meant, across=filled["across"], along=filled["along"])),
        "by_form": {form: verdict(with_form(meant, form)) for form in forms},
        "otherwise": {reading: verdict(some) for reading, some in readings.items()},
        "over_players": filled.get("over_players", True),
        "missing_n_players": [],
        **{key: filled[key] for key in ("uncounted", "measured", "asked")},
        "confidence": CONFIDENCE,
        "cases": [case.to_dict() for some in (meant, *readings.values()) for case in some],
        "note": filled["note"],
    }
