"""One scheme held against what is asked of it: its specification, what it proves, why it cannot.

Nothing is simulated here. ``compare`` simulates what a scheme takes.
"""

from dataclasses import dataclass, replace

from devote.plan.promises import FailureBounds
from devote.plan.question import Question
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.protocol.scheme import SCHEMES, Scheme

ANY_FLEET = 10**9


@dataclass(frozen=True)
class Candidate:
    """A scheme with the specification that suits the question, and why it cannot do, if so.

    ``proved_error`` holds whatever arms pay. ``may_stall``: it can end without one answer though
    there are enough devices. ``is_refused``: there is no such specification, or none for so few
    devices.
    """

    form: type[Scheme]
    spec: ExperimentSpec | None
    proved_error: float | None = None
    proved_privacy: float | None = None
    may_stall: bool = True
    is_refused: bool = True
    cannot: tuple[str, ...] = ()


def deployable() -> list[type[Scheme]]:
    """The schemes that devices can run."""
    return [form for form in SCHEMES.values() if form.about.deployable]


def weigh(form: type[Scheme], question: Question) -> Candidate:
    """Hold a scheme against a question.

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
        return Candidate(form, None, cannot=(_first_line(refusal),))
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
    return Candidate(form, spec, error, privacy, stalls, is_refused, tuple(cannot))


def check_question(question: Question) -> None:
    """Refuse what no fleet could answer: say which number is the cause, and what would do."""
    _check_epsilon(question)
    question = replace(question, broken="")  # what breaks the proofs is said of each scheme
    wish = question.wish
    if not _all_refuse(question):
        return

    def with_liars(liars: int) -> Question:
        return replace(question, wish=replace(wish, liars=liars))

    if wish.liars and not _all_refuse(with_liars(0)):
        low, high = 0, wish.liars
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _all_refuse(with_liars(middle)) else (middle, high)
        do = "Use more devices, or liars=0" if not low else f"Use liars={low:,} or fewer"
        raise SpecError(
            f"liars={wish.liars:,} is too many for {wish.n_players:,} devices: "
            f"{_refusals(question)}.\n{do}; fewer still cost less."
        )
    if _all_refuse(replace(question, wish=replace(wish, n_players=ANY_FLEET))):
        raise SpecError(
            f"No scheme can be set up for this: {_refusals(question)}.\n"
            "Use a higher epsilon, a higher privacy, or a higher delta."
        )


def _check_epsilon(question: Question) -> None:
    wish = question.wish
    if wish.means is None or (gap := max(wish.means) - min(wish.means)) == 0.0:
        return
    if wish.epsilon >= gap * (1.0 - 1e-9):
        raise SpecError(
            f"epsilon={wish.epsilon:g} lets every option pass: the best and the worst are only "
            f"{gap:.3g} apart.\nUse an epsilon below {gap:.3g}, such as {two_digits(gap / 4.0):g}; "
            "or means that differ more."
        )


def _all_refuse(question: Question) -> bool:
    """Whether no scheme that proves its error can be set up."""
    found = [weigh(form, question) for form in deployable()]
    return all(one.is_refused or one.proved_error is None for one in found)


def _refusals(question: Question) -> str:
    """Why those schemes cannot be set up that can prove their error at all."""
    plain = replace(question.wish, n_players=ANY_FLEET, epsilon=1.0, privacy=None, liars=0)
    able = [
        form for form in deployable() if weigh(form, replace(question, wish=plain)).proved_error
    ]
    found = [weigh(form, question) for form in able]
    return "; ".join(f"{one.form.name}: {one.cannot[-1]}" for one in found)


def two_digits(value: float) -> float:
    """Rounded to two digits.

    >>> two_digits(0.01234), two_digits(12345)
    (0.012, 12000.0)
    """
    return float(f"{value:.1e}")


def _first_line(error: SpecError) -> str:
    return str(error).splitlines()[0].rstrip(".")
