"""Whether a sentence holds, told from numbers and their intervals.

A sentence is checked in one or several *cases* (a subroutine, a problem), each measured in one
or several places (numbers of players). In each place the sentence asks for a range of values,
and the whole interval must lie inside it (yes), outside it (no), or the trials cannot tell. All
yes: *holds*. All no: *does not hold*. Else it *depends*, and the code says on what.

The verdict is that of the reading the authors meant, with SER3's radius in the form ``FORM``.
Cases of another ``reading`` or ``form`` have verdicts of their own beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.studies.estimates import Estimate

Verdict: TypeAlias = Literal["holds", "does not hold", "depends", "not measured"]
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "depends", "not measured")

ROUNDING = 1e-9
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


def agreement(outcomes: Sequence[bool | None]) -> bool | None:
    """The outcome that all share, None if there is no such."""
    return outcomes[0] if len(set(outcomes)) == 1 else None


def under(cases: Sequence[Case], *, form: str, reading: str = "") -> tuple[Case, ...]:
    """The cases of one reading, with SER3 in one form."""
    return tuple(case for case in cases if case.reading == reading and case.form in ("", form))


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
