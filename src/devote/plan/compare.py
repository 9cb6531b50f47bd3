"""All schemes side by side for one fleet: which to use, what each thing asked costs, what to relax.

Each scheme says by its contract which specification suits the wish (``protocol.planning``) and what
is proved of it; what that takes is simulated. Where no scheme can, each thing asked is given up a
little at a time until simulated runs of some scheme do it, everything else kept.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from devote.plan.forecast import Effort, Forecast, forecast, why_not_simulated
from devote.plan.promises import FailureBounds, only_users_differ
from devote.plan.question import Question
from devote.problems import Problem, Weights
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.protocol.scheme import SCHEMES, Scheme

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what comes next."""

EVERYBODY = 2**62
"""A crowd that never ends: all devices are asked before the first answer comes."""

COSTS: dict[str, tuple[Any, ...]] = {
    "privacy": (4.0, 2.0, 1.0, 0.5),
    "liars": (0, 10, 100, 1_000),
    "epsilon": (0.5, 2.0, 3.0),
}
"""What else could be asked: epsilon in multiples of what is asked."""

LIARS_OF_FEW = (0, 1, 3, 10)
"""Lying devices where few devices decide."""

NAMED = 2
"""Changes that are named where no scheme can do what is asked."""

TRIES = 4
"""How many values, from the first that few runs find enough, are tried with many runs."""

MOST_DEVICES, LONGEST = 1e8, 730.0
"""The most devices, and the most days, that are tried."""

LARGEST = 0.9
"""The largest epsilon that is tried, as a share of the gap between the best and the worst."""

DELTA = (0.01, 0.02, 0.05, 0.1, 0.2)
PRIVACY = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
WITHOUT_PRIVACY = 100.0
"""To give up privacy altogether counts as much as to ask for so much less of something else."""


@dataclass(frozen=True)
class Row:
    """A scheme with the specification that suits a question, and what is known of it.

    ``proved_error`` holds whatever arms pay. ``may_stall``: it can end without one answer though
    there are enough devices. ``cannot``: why it cannot do what is asked, if so; ``is_refused``:
    then it is not simulated either. ``forecast``: what simulated runs took, None if there were
    none.
    """

    form: type[Scheme]
    spec: ExperimentSpec | None = None
    proved_error: float | None = None
    proved_privacy: float | None = None
    may_stall: bool = True
    is_refused: bool = True
    cannot: tuple[str, ...] = ()
    forecast: Forecast | None = None

    @property
    def name(self) -> str:
        """The scheme's name."""
        return self.form.name

    @property
    def is_able(self) -> bool:
        """Whether it can be set up, with an error that is proved."""
        return not self.is_refused and self.proved_error is not None

    def simulated(self, question: Question, effort: Effort, crowd: int = 0) -> "Row":
        """The same with simulated runs, and with what they say against it."""
        if self.spec is None:
            return self
        made = forecast(self.spec, question, effort, crowd=crowd)
        against: list[str] = []
        if made is not None:
            against = made.why_not(question)
        elif not self.is_refused:
            against = [f"it is not simulated: {why_not_simulated(self.spec, question)}"]
        return replace(self, forecast=made, cannot=(*self.cannot, *against))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        spec = self.spec
        planning = None if spec is None else spec.scheme.planning(spec)
        return {
            "scheme": self.name,
            "spec": None if spec is None else spec.to_dict(),
            "votes_needed": None if spec is None else spec.votes_needed,
            "proved_error": self.proved_error,
            "proved_privacy": self.proved_privacy,
            "liars_tolerated": 0 if planning is None else planning.liars_tolerated,
            "asks": None if planning is None else planning.asks,
            "may_stall": self.may_stall,
            "can": not self.cannot,
            "cannot": list(self.cannot),
            "simulated": None if self.forecast is None else self.forecast.to_dict(),
        }


def weigh(form: type[Scheme], question: Question) -> Row:
    """Hold a scheme against a question, without simulating it.

    >>> from devote.protocol import Wish
    >>> from devote.schemes import Jury
    >>> wish = Wish(n_players=500, n_arms=4, epsilon=0.25, delta=0.05)
    >>> weigh(Jury, Question(wish, Problem("toy", [0.8, 0.2, 0.2, 0.2]), 10)).cannot
    ()
    """
    wish = question.wish
    try:
        spec = form.suited(wish)
    except SpecError as refusal:
        return Row(form, cannot=(str(refusal).splitlines()[0].rstrip("."),))
    scheme, n = spec.scheme, wish.n_players
    case = Case(spec, n, None, question.broken, only_users_differ(question.problem))
    guarantees, planning = scheme.guarantees(case), scheme.planning(spec)
    error = FailureBounds(guarantees.bounds).proved
    privacy = scheme.sending.privacy
    cannot = []
    if error is None:
        cannot.append("its error is not proved here" if question.broken else "no error is proved")
    elif error > wish.delta * (1.0 + 1e-9):
        cannot.append(f"its proved error is {error:.2g}")
    if wish.privacy is not None and (privacy is None or privacy > wish.privacy):
        cannot.append("no privacy is proved" if privacy is None else f"its privacy is {privacy:g}")
    if planning.liars_tolerated < wish.liars:
        cannot.append("nothing is proved where devices lie")
    comes_once = question.visitors_per_day is not None and planning.answers_each is None
    if comes_once:
        cannot.append("its devices play again and again, and visitors come once")
    fewest = scheme.fewest_players(spec)
    if n < fewest:
        cannot.append(f"it needs {fewest:,} devices at the very least")
    stalls = guarantees.can_stall and scheme.about.by_message
    return Row(form, spec, error, privacy, stalls, comes_once or n < fewest, tuple(cannot))


def deployable() -> list[type[Scheme]]:
    """The schemes that devices can run."""
    return [form for form in SCHEMES.values() if form.about.deployable]


def best_of(rows: list[Row]) -> Row | None:
    """The row to use, None if none can.

    Those that always come to an answer first; then the quickest, then the fewest messages.
    """

    def order(row: Row) -> tuple[bool, float, float]:
        assert row.forecast is not None
        return row.may_stall, row.forecast.days_needed, row.forecast.messages or 0.0

    return min((row for row in rows if not row.cannot), key=order, default=None)


@dataclass(frozen=True)
class Variant:
    """One thing asked otherwise, all else kept, and the best scheme then, or that to be used.

    ``value`` stands in place of ``before``, what was asked for; a privacy of None is none at all.
    """

    asked: str
    before: Any
    value: Any
    row: Row | None = None

    @property
    def factor(self) -> float:
        """How many times less is asked."""
        if self.value is None:
            return WITHOUT_PRIVACY
        low, high = sorted((self.value, self.before))
        return float(high / max(low, 1.0) if self.asked == "liars" else high / low)

    @property
    def words(self) -> str:
        """The change as a person would say it."""
        value, before = self.value, self.before
        if value is None:
            return f"no privacy instead of e = {before:g}"
        words = {
            "n_players": f"{value:,.0f} devices instead of {before:,.0f}",
            "visitors_per_day": f"{value:,.10g} visitors a day instead of {before:,.10g}",
            "days": f"up to {value:g} days instead of {before:g}",
            "privacy": f"privacy e = {value:g} instead of e = {before:g}",
            "liars": f"at most {value:,.0f} lying devices instead of {before:,.0f}",
        }
        return words.get(self.asked, f"{self.asked} {value:g} instead of {before:g}")

    def simulated(self, question: Question, effort: Effort) -> "Variant":
        """The same with the quickest scheme that does what is asked then; no row if none does."""
        asked = question.ask(self.asked, self.value)
        rows = [row for form in deployable() if not (row := weigh(form, asked)).cannot]
        return replace(self, row=best_of([row.simulated(asked, effort) for row in rows]))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        assert self.row is not None
        row = self.row.to_dict()
        found = {"asked": self.asked, "before": self.before, "value": self.value}
        return found | {key: row[key] for key in ("scheme", "simulated", "can", "cannot")}


@dataclass(frozen=True)
class Comparison:
    """The rows, which of them to use, why, what that costs, or what to relax if there is none."""

    question: Question
    rows: tuple[Row, ...]
    use: Row | None
    why: str
    costs: tuple[Variant, ...]
    relax: tuple[Variant, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        question, wish = self.question, self.question.wish
        names = ("n_players", "n_arms", "epsilon", "delta", "privacy", "liars", "algorithm")
        return {
            **{name: getattr(wish, name) for name in names},
            "plays_per_day": question.plays_per_day,
            "visitors_per_day": question.visitors_per_day,
            "most_days": question.days,
            "problem": question.problem.to_dict(),
            "schemes": [row.to_dict() for row in self.rows],
            "use": None if self.use is None else self.use.name,
            "why": self.why,
            "costs": [one.to_dict() for one in self.costs],
            "relax": [{**one.to_dict(), "words": one.words} for one in self.relax],
            "seed": self.seed,
        }


def compare(
    question: Question,
    *,
    runs: int = 400,
    seed: int = 0,
    seconds: float = 10.0,
    with_costs: bool = True,
    progress: Progress = lambda *_: None,
) -> Comparison:
    """Every scheme that devices can run, weighed and simulated, and one named.

    ``with_costs``: what the one named would take with other values of what is asked, or what to
    relax where there is none, as well.

    >>> from devote.protocol import Wish
    >>> wish = Wish(n_players=500, n_arms=2, epsilon=0.25, delta=0.05)
    >>> question = Question(wish, Problem("toy", [0.8, 0.2]), plays_per_day=10)
    >>> found = compare(question, runs=20, with_costs=False)
    >>> found.use.name, found.use.forecast.decided
    ('survey', 20)
    """
    epsilon, gap = question.wish.epsilon, question.gap
    if gap and epsilon >= gap * (1.0 - 1e-9):
        raise SpecError(
            f"epsilon={epsilon:g} lets every option pass: the best and the worst are only "
            f"{gap:.3g} apart.\nUse an epsilon below {gap:.3g}, such as {two_digits(gap / 4.0):g}; "
            "or means that differ more."
        )
    effort, forms = Effort(runs, seconds, seed), deployable()
    rows = []
    for place, form in enumerate(forms):
        progress(place, len(forms), form.name)
        row = weigh(form, question)
        # What cannot be used anyway is shown for comparison: a few runs will do.
        rows.append(row.simulated(question, effort.less(40) if row.cannot else effort))
    use = best_of(rows)
    costs: tuple[Variant, ...] = ()
    relax: tuple[Variant, ...] = ()
    if with_costs and use is not None:
        costs = tuple(_costs(use, question, effort, progress))
    elif with_costs:
        relax = tuple(_relaxations(question, effort, progress))
    return Comparison(question, tuple(rows), use, _why(use, rows, question), costs, relax, seed)


def _why(use: Row | None, rows: list[Row], question: Question) -> str:
    if use is None:
        reasons = (f"{row.name}: {', '.join(row.cannot)}" for row in rows)
        return "No scheme can do this: " + "; ".join(reasons)
    wish = question.wish
    asked = f"wrong in at most {100 * wish.delta:g} of 100 experiments"
    asked += "" if wish.privacy is None else f", privacy {wish.privacy:g}"
    asked += f", up to {wish.liars:,} lying devices" if wish.liars else ""
    others = [row for row in rows if not row.cannot and row is not use]
    words = f"What you ask is proved of it ({asked})"
    words += ", and it is the quickest." if others else "; no other scheme does it here."
    if use.may_stall:
        assert use.forecast is not None
        words += (
            " It may end without one answer, and then says so: "
            f"{use.forecast.runs - use.forecast.decided} of {use.forecast.runs} simulated runs did."
        )
    return words


def _costs(use: Row, question: Question, effort: Effort, progress: Progress) -> Iterator[Variant]:
    """What one scheme takes with other privacy, liars and epsilon, and in two scenarios.

    Each is simulated, everything else kept as asked; ``use`` is what it takes as asked.
    """
    assert use.spec is not None
    wish, problem, gap = question.wish, question.problem, question.gap
    many = use.spec.scheme.planning(use.spec).answers_each is not None
    liars = {wish.liars, *(COSTS["liars"] if many else LIARS_OF_FEW)}
    epsilon = {wish.epsilon, *(two_digits(wish.epsilon * factor) for factor in COSTS["epsilon"])}
    privacy = {wish.privacy or COSTS["privacy"][0], *COSTS["privacy"]}
    values: dict[str, list[Any]] = {
        "privacy": [None, *sorted(privacy, reverse=True)],
        "liars": sorted(n for n in liars if n <= max(wish.liars, wish.n_players // 20)),
        "epsilon": sorted(e for e in epsilon if e < (gap or 1.0)),
    }
    changed = [
        (Variant(asked, question.asks(asked), value), question.ask(asked, value), 0)
        for asked, some_values in values.items()
        for value in some_values
    ]
    if many:
        changed.append((Variant("flash crowd", None, None), question, EVERYBODY))
    if gap:
        best = max(problem.means)
        alike = Problem("alike", (best,) * problem.n_arms, activity=problem.activity)
        other = replace(question.ask("means", alike.means), problem=alike)
        changed.append((Variant("all alike", None, best), other, 0))
    for place, (variant, other, crowd) in enumerate(changed):
        progress(place, len(changed), f"{variant.asked} {variant.value or ''}".strip())
        row = use
        if other != question or crowd:
            row = weigh(use.form, other).simulated(other, effort.less(100), crowd)
        yield replace(variant, row=row)


def _relaxations(question: Question, effort: Effort, progress: Progress) -> Iterator[Variant]:
    """The changes of one thing that are enough and give up least, ``NAMED`` of them at most."""
    few, many = effort.less(30), effort.less(200)
    enough: list[list[Variant]] = []
    ways = _ways(question)
    for place, (asked, values) in enumerate(ways.items()):
        progress(place, len(ways), f"with other {asked}")
        tried = [Variant(asked, question.asks(asked), value) for value in values]
        # Later values give up more, so what is enough is found by bisection.
        first = bisect_left(tried, True, key=lambda one: bool(one.simulated(question, few).row))
        enough.append(tried[first : first + TRIES])
    named = 0
    for tried in sorted(filter(None, enough), key=lambda some: some[0].factor):
        made = (one.simulated(question, many) for one in tried)
        found = next((one for one in made if one.row is not None), None)
        if found is not None:
            named += 1
            yield found
        if named == NAMED:
            return


def _ways(question: Question) -> dict[str, list[Any]]:
    """What can be given up, and values that give up more and more."""
    wish, gap = question.wish, question.gap
    ways: dict[str, list[Any]] = {"days": _steps(question.days, LONGEST)}
    if question.visitors_per_day is not None:
        ways["visitors_per_day"] = _steps(question.visitors_per_day, MOST_DEVICES)
    elif not isinstance(question.problem.activity, Weights):  # which says how many devices
        ways["n_players"] = [round(n) for n in _steps(wish.n_players, MOST_DEVICES)]
    ways["epsilon"] = _steps(wish.epsilon, LARGEST * gap if gap else min(1.0, 4.0 * wish.epsilon))
    ways["delta"] = [delta for delta in DELTA if delta > wish.delta]
    if wish.privacy is not None:
        ways["privacy"] = [*(e for e in PRIVACY if e > wish.privacy), None]
    if wish.liars:
        ways["liars"] = [wish.liars // 2**i for i in range(1, wish.liars.bit_length() + 1)]
    return ways


def _steps(before: float, most: float) -> list[float]:
    """Values of two digits up to the most, each about a tenth above the one before.

    >>> _steps(60, 80)
    [66.0, 73.0, 80.0]
    """
    values, value = [], before
    while (value := value * 1.1) <= most:
        values.append(two_digits(value))
    return [value for value in dict.fromkeys(values) if before < value <= most]


def two_digits(value: float) -> float:
    """Rounded to two digits.

    >>> two_digits(0.01234), two_digits(12345)
    (0.012, 12000.0)
    """
    return float(f"{value:.1e}")
