"""What a person does with an experiment: one line, what it means, and what to be warned of."""

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from devote.boards.board import Experiment, ExperimentState, as_date
from devote.protocol import Bound, Case, SpecError, Tally
from devote.schemes import Survey
from devote.schemes.estimate import answers_expected
from devote.server.days import DAY, Days

TELLING = 1_000
"""With fewer answers than this an arrival that depends on what they say often goes unnoticed.

``python -m benchmarks.missing_answers``: where 90 % of the clicks on the better of two options are
lost, half of the surveys end, with some hundred answers, before the test has noticed.
"""

Kind: TypeAlias = Literal["keep", "use", "none", "warn"]


def time_left(days: float) -> str:
    """A number of days as people say it.

    >>> time_left(2.2), time_left(0.2), time_left(900)
    ('3 days', '5 hours', 'over a year')
    """
    if days > 365:
        return "over a year"
    count, unit = (math.ceil(days), "day") if days > 1 else (max(1, math.ceil(24 * days)), "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def points(value: float, digits: int = 2) -> str:
    """A share as percentage points.

    >>> points(0.005), points(0.25)
    ('0.5', '25')
    """
    return f"{100.0 * value:.{digits}g}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def first_line(experiment: Experiment, tally: Tally, shown: dict[str, Any]) -> tuple[Kind, str]:
    """What to do, in one line; ``shown`` is the tally's view."""
    names, status = experiment.spec.arm_names, tally.status(experiment.players)
    if tally.mismatch:
        return "warn", "Do not use a result of this: answers are missing for a reason"
    if status == "agreed":
        return "use", _use(experiment, tally, shown)
    if status == "stalled":
        left = listed([names[k] for k in tally.answer])
        return "none", f"No answer: the devices could not agree between {left}"
    if not any(shown["counts"] or [1]):
        return "keep", "Waiting for the first message"
    return "keep", f"Keep running: {so_far(experiment, tally, shown)}"


def _use(experiment: Experiment, tally: Tally, shown: dict[str, Any]) -> str:
    names = experiment.spec.arm_names
    if rows := shown.get("segments"):
        return "Use " + listed([f"{names[row['answer']]} for {row['name']}" for row in rows])
    answer = names[tally.answer[0]]
    if len(tally.withdrawn) == len(names) - 1:
        return f"Only {answer} is left: all others were withdrawn"
    return f"Keep {answer}" if answer == experiment.baseline else f"Use {answer}"


def so_far(experiment: Experiment, tally: Tally, shown: dict[str, Any]) -> str:
    """How far it is."""
    if rows := shown.get("segments"):
        n = sum(row["answer"] is not None for row in rows)
        return f"{n} of {len(rows)} segments have their answer"
    if "answers_needed" in shown:
        n, needed = sum(shown["counts"]), shown["answers_needed"]
        return f"{n:,} answers" if needed is None else f"{n:,} of about {needed:,} answers"
    return f"{len(tally.shared)} of {experiment.spec.n_arms} options are left"


def meaning(experiment: Experiment, tally: Tally, bounds: Sequence[Bound]) -> str:
    """What the bound is the probability of."""
    if tally.mismatch:
        return "Nothing is proved of this experiment any more."
    if not bounds:
        return "How often an experiment like this one is wrong is not known."
    bound, near = bounds[-1], points(experiment.spec.epsilon)
    value = f"{100.0 * bound.value:.2g} %" if bound.value >= 1e-4 else "less than 0.01 %"
    standing = "proved" if bound.name == "proved" else f"{bound.name}, not proved here"
    text = (
        f"Experiments like this one end with an option that is more than {near} percentage points "
        f"below the best with probability at most {value} ({standing})."
    )
    if tally.status(experiment.players) == "open":
        if any(row["status"] != "open" for row in tally.public().get("segments", ())):
            return f"Not all is decided yet: what leads in a segment may still lose. {text}"
        return f"Nothing is decided yet: what leads now may lose. {text}"
    return f"It is decided: no more answers are asked for now. {text}"


def warnings(experiment: Experiment, tally: Tally) -> list[str]:
    """What to know before acting on what is shown, most important first."""
    found = [] if tally.mismatch is None else [tally.mismatch]
    counts = tally.view()["counts"]
    is_survey = isinstance(experiment.spec.scheme, Survey)
    if not found and is_survey and tally.status() == "agreed" and sum(counts) < TELLING:
        found.append(
            f"With {sum(counts):,} answers nobody would notice if some got lost because of what "
            "they said. Make sure that a click does not leave the page before its answer is sent."
        )
    if tally.withdrawn:
        m, names = len(tally.withdrawn), experiment.spec.arm_names
        gone = listed([names[k] for k in tally.withdrawn])
        total = min(1.0, (m + 1) * experiment.spec.delta)
        found.append(
            f"{gone} {'was' if m == 1 else 'were'} withdrawn. If that was because of the answers, "
            f"the probability of a wrong answer is at most {100 * total:.3g} %, {m + 1} times as "
            "high as before; if it had another reason it stays the same."
        )
    return found


def present(
    shown: dict[str, Any], state: ExperimentState, moment: float, days: Days
) -> dict[str, Any]:
    """What does not follow from the log: ``left`` is the time until there are enough answers."""
    needed, rate, ends = shown.get("answers_needed"), days.rate, state.ends
    left = warning = None
    if needed and rate and needed > sum(shown["counts"]):
        wait = (needed - sum(shown["counts"])) / rate
        left = time_left(wait)
        if ends is not None and moment < ends < moment + wait * DAY:
            warning = (
                f"It ends on {as_date(ends)}, probably without an answer: at this rate it takes "
                f"{left} more. Set a later end, or bring more visitors."
            )
    is_open = state.now(moment) == "open"
    return {"open": is_open, "left": left, "warning": warning, "rate": rate, "days": days.rows()}


def draft_lines(experiment: Experiment, rate: float, visitors: int | None) -> list[str]:
    """What to expect of a survey of which one option pays epsilon more than ``rate``."""
    spec = experiment.spec
    if not isinstance(spec.scheme, Survey):
        raise SpecError("Only a survey is planned here.\nUse devote plan for other schemes.")
    best = min(1.0, rate + spec.epsilon)
    means = [best, *[best - spec.epsilon] * (spec.n_arms - 1)]
    if spec.scheme.segments:
        needed = spec.scheme.answers_expected(spec)
    else:
        needed = answers_expected(spec, means)
    lines = []
    if needed is not None:
        first = f"About {needed:,} answers"
        if visitors:
            first += f": {time_left(needed / visitors)} at {visitors:,} visitors a day"
        lines.append(f"{first}. One experiment in twenty takes about twice as many.")
    guarantees = spec.scheme.guarantees(Case(spec))
    lines.append(meaning(experiment, spec.scheme.tally(spec), guarantees.bounds))
    lines.append(
        "This holds if answers arrive whatever they say: a click that leaves the page must not "
        "lose its answer."
    )
    lines.append(f"Each device is asked {spec.scheme.planning(spec).asks}.")
    return [*lines, *spec.scheme.planning(spec).warnings]
