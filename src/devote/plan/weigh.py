"""One scheme held against what is asked of it: its specification, what it proves, why it cannot.

Each scheme says by its contract which specification suits the wish (``protocol.planning``) and what
is proved of it; what that takes is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from devote.plan.forecast import Effort, Forecast, forecast, why_not_simulated
from devote.plan.promises import FailureBounds
from devote.plan.question import Question
from devote.problems import Problem
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.protocol.scheme import SCHEMES, Scheme

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what comes next."""

ANY_FLEET = 10**9


@dataclass(frozen=True)
class Row:
    """A scheme with the specification that suits a question, and what is known of it.

    ``proved_error`` holds whatever arms pay. ``may_stall``: it can end without one answer though
    there are enough devices. ``is_refused``: there is no such specification, or none for so few
    devices. ``cannot``: why it cannot do what is asked, if so. ``forecast``: what simulated runs
    took, None if there were none.
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

    def simulated(
        self, question: Question, problem: Problem, effort: Effort, crowd: int = 0
    ) -> "Row":
        """The same with simulated runs, and with what they say against it."""
        if self.spec is None:
            return self
        made = forecast(self.spec, problem, question, effort, crowd=crowd)
        against: list[str] = []
        if made is not None:
            against = made.why_not(question)
        elif not self.is_refused:
            why = why_not_simulated(self.spec, problem, question)
            against = [f"it is not simulated: {why}"]
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


def deployable() -> list[type[Scheme]]:
    """The schemes that devices can run."""
    return [form for form in SCHEMES.values() if form.about.deployable]


def weigh(form: type[Scheme], question: Question) -> Row:
    """Hold a scheme against a question, without simulating it.

    >>> from devote.protocol import Wish
    >>> from devote.schemes import Jury
    >>> wish = Wish(n_players=500, n_arms=4, epsilon=0.25, delta=0.05)
    >>> weigh(Jury, Question(wish, plays_per_day=10)).cannot
    ()
    """
    wish = question.wish
    try:
        spec = form.suited(wish)
    except SpecError as refusal:
        return Row(form, cannot=(str(refusal).splitlines()[0].rstrip("."),))
    scheme, n = spec.scheme, wish.n_players
    case = Case(spec, n, None, question.broken, question.users_differ)
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
    is_refused = comes_once or n < fewest
    return Row(form, spec, error, privacy, stalls, is_refused, tuple(cannot))


def best_of(rows: list[Row]) -> Row | None:
    """The row to use, None if none can.

    Those that always come to an answer first; then the quickest, then the fewest messages.
    """

    def order(row: Row) -> tuple[bool, float, float]:
        assert row.forecast is not None
        return row.may_stall, row.forecast.days_needed, row.forecast.messages or 0.0

    return min((row for row in rows if not row.cannot), key=order, default=None)


def check_question(question: Question) -> None:
    """Refuse what no fleet could answer: say which number is the cause, and what would do."""
    wish = question.wish
    gap = 0.0 if wish.means is None else max(wish.means) - min(wish.means)
    if gap and wish.epsilon >= gap * (1.0 - 1e-9):
        raise SpecError(
            f"epsilon={wish.epsilon:g} lets every option pass: the best and the worst are only "
            f"{gap:.3g} apart.\nUse an epsilon below {gap:.3g}, such as {two_digits(gap / 4.0):g}; "
            "or means that differ more."
        )
    question = replace(question, broken="")  # each row names what breaks the proofs
    if not _all_refuse(question):
        return
    if wish.liars and not _all_refuse(question.ask("liars", 0)):
        low, high = 0, wish.liars
        while high - low > 1:
            middle = (low + high) // 2
            refuse = _all_refuse(question.ask("liars", middle))
            low, high = (low, middle) if refuse else (middle, high)
        do = "Use more devices, or liars=0" if not low else f"Use liars={low:,} or fewer"
        raise SpecError(
            f"liars={wish.liars:,} is too many for {wish.n_players:,} devices: "
            f"{_refusals(question)}.\n{do}; fewer still cost less."
        )
    if _all_refuse(question.ask("n_players", ANY_FLEET)):
        raise SpecError(
            f"No scheme can be set up for this: {_refusals(question)}.\n"
            "Use a higher epsilon, a higher privacy, or a higher delta."
        )


def _all_refuse(question: Question) -> bool:
    """Whether no scheme that proves its error can be set up."""
    found = [weigh(form, question) for form in deployable()]
    return all(one.is_refused or one.proved_error is None for one in found)


def _refusals(question: Question) -> str:
    """Why those schemes cannot be set up that can prove their error at all."""
    plain = replace(question.wish, n_players=ANY_FLEET, epsilon=1.0, privacy=None, liars=0)
    able = [f for f in deployable() if weigh(f, replace(question, wish=plain)).proved_error]
    found = [weigh(form, question) for form in able]
    return "; ".join(f"{one.name}: {one.cannot[-1]}" for one in found)


def two_digits(value: float) -> float:
    """Rounded to two digits.

    >>> two_digits(0.01234), two_digits(12345)
    (0.012, 12000.0)
    """
    return float(f"{value:.1e}")
