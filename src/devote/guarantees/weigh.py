"""One scheme held against what is asked of it: what it promises, what it takes, why it cannot.

Nothing is simulated here, so that many fleets and wishes can be tried; ``compare`` simulates those
that can, and ``relax`` tries what would help those that cannot.
"""

from dataclasses import dataclass

from devote.guarantees.promises import FailureBounds
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.protocol.planning import Forecast, Wish
from devote.protocol.scheme import Scheme, check


@dataclass(frozen=True)
class Question:
    """What is asked of a fleet.

    ``plays_per_day`` are those of one device, ``days`` the longest that one would wait, and
    ``broken`` says which assumption of the proofs the problem breaks.
    """

    wish: Wish
    plays_per_day: float
    days: float
    broken: str = ""

    def __post_init__(self) -> None:
        """Refuse what no scheme could be asked."""
        wish = self.wish
        check.whole("n_players", wish.n_players, least=1, remedy="Somebody must play.")
        check.fraction("epsilon", wish.epsilon, "It is how far from the best a good arm may be.")
        check.probability("delta", wish.delta, "It is the error allowed to the group.")
        check.positive("plays_per_day", self.plays_per_day, "It counts the plays of one device.")
        check.positive("days", self.days, "It is the longest that you would wait.")
        if wish.privacy is not None:
            remedy = "It is the e of local differential privacy, or none."
            check.positive("privacy", wish.privacy, remedy)


@dataclass(frozen=True)
class Candidate:
    """A scheme with the specification that suits the question, and why it cannot do, if so.

    ``proved_error`` holds whatever arms pay. ``may_stall``: it can end without one answer though
    there are enough devices.
    """

    form: type[Scheme]
    spec: ExperimentSpec | None
    forecast: Forecast | None
    proved_error: float | None
    proved_privacy: float | None
    may_stall: bool
    cannot: tuple[str, ...]


def weigh(form: type[Scheme], question: Question) -> Candidate:
    """Hold a scheme against a question.

    >>> from devote.schemes import Jury
    >>> wish = Wish(n_players=500, n_arms=4, epsilon=0.25, delta=0.05)
    >>> weigh(Jury, Question(wish, plays_per_day=10, days=365)).cannot
    ()
    """
    wish = question.wish
    try:
        spec = form.suited(wish)
    except SpecError as refusal:
        return Candidate(form, None, None, None, None, True, (_first_line(refusal),))
    scheme, n = spec.scheme, wish.n_players
    case = Case(spec, n, None, question.broken)
    error = FailureBounds(scheme.bounds(case)).proved
    privacy = scheme.proved_privacy(spec)
    cannot = []
    if error is None:
        cannot.append("its error is not proved here" if question.broken else "no error is proved")
    elif error > wish.delta * (1.0 + 1e-9):
        cannot.append(f"its proved error is {error:.2g}")
    if wish.privacy is not None and (privacy is None or privacy > wish.privacy):
        cannot.append("no privacy is proved" if privacy is None else f"its privacy is {privacy:g}")
    forecast = scheme.forecast(spec, n, wish.means)
    try:
        spec.check_players(n)
        needed = 0 if forecast is None else forecast.devices
    except SpecError:
        needed = scheme.fewest_players(spec)
        needed = needed if forecast is None else max(needed, forecast.devices)
    if n < needed:
        cannot.append(f"it needs about {needed:,} devices")
    elif forecast is not None and forecast.plays / question.plays_per_day > question.days:
        cannot.append(f"it takes about {forecast.plays / question.plays_per_day:,.0f} days")
    stalls = scheme.can_stall(case) and scheme.by_message
    return Candidate(form, spec, forecast, error, privacy, stalls, tuple(cannot))


def _first_line(error: SpecError) -> str:
    return str(error).splitlines()[0].rstrip(".")
