"""What a jury asks for and what it is worth."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from devote.protocol.errors import SpecError
from devote.protocol.planning import Case, Guarantees, Planning, Wish
from devote.protocol.scheme import About, Scheme, Sending, check
from devote.protocol.spec import ExperimentSpec
from devote.rules.randomizer import GRID, truthful
from devote.schemes.jury import promises, sizes
from devote.schemes.jury.messages import Claim, Pick
from devote.schemes.jury.player import Juror
from devote.schemes.jury.sizes import LARGEST
from devote.schemes.jury.tally import Verdict
from devote.schemes.lone import NONE, PRIVACY, check_privacy, fewest_pulls
from devote.theory import binomial_tail

PARAMETERS = {
    "seats": "It is the number of jurors.",
    "seat_after": "It is the activation at which a device claims a seat.",
    "liars": "It is how many jurors may say what they like.",
    "privacy": PRIVACY,
    "vote_after": "It is the activation at which a private juror speaks.",
}


@dataclass(frozen=True)
class Jury(Scheme):
    """Everybody learns alone; the first arm that enough of ``seats`` jurors pick is the answer.

    A seat is claimed at the ``seat_after``-th activation. ``liars`` jurors may say what they
    like. ``privacy`` is the e of e-local differential privacy for each juror's one message; it
    is then sent at the ``vote_after``-th activation.
    """

    name: ClassVar[str] = "jury"
    about: ClassVar[About] = About(
        summary="a few devices learn alone and say one thing each; c of J decide",
        source="(this project's)",
        messages=(Claim, Pick),
        sends="claims and picks",
        parameters=PARAMETERS,
        default_algorithm="betting",
        default_eta=0.2,
        why_order="the first to claim a seat have it, so claims need one order",
    )

    seats: int = 29
    seat_after: int = 20
    liars: int = 0
    privacy: float | None = None
    vote_after: int = 300

    def __post_init__(self) -> None:
        for name, least in (("seats", 1), ("seat_after", 1), ("liars", 0), ("vote_after", 1)):
            value = getattr(self, name)
            check.whole(name, value, least=least, remedy=PARAMETERS[name])
        if self.seats > LARGEST:
            raise SpecError(f"seats={self.seats} is more than {LARGEST:,}.\nUse fewer jurors.")
        if self.liars >= self.seats:
            raise SpecError(
                f"liars={self.liars} of {self.seats} jurors leave nobody to trust.\n"
                "Use more seats, or fewer liars."
            )
        given: object = self.privacy
        if given == NONE:
            object.__setattr__(self, "privacy", None)
        elif given is not None:
            object.__setattr__(self, "privacy", check_privacy(given))

    def tally(self, spec: ExperimentSpec) -> Verdict:
        """An empty jury."""
        return Verdict(spec)

    def player(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> Juror:
        """A device that may become a juror."""
        return Juror(spec, voter, n_players)

    @property
    def sending(self) -> Sending:
        """With privacy a juror's one pick is blurred."""
        return Sending(noisy=self.privacy is not None, privacy=self.privacy)

    def truths(self, n_arms: int) -> int:
        """How many values of the noise stand for the truth; see ``rules.randomizer``."""
        return GRID if self.privacy is None else truthful(self.privacy, n_arms)

    def wrong_pick(self, spec: ExperimentSpec) -> float:
        """A bound on how likely an honest juror picks one given bad arm; without privacy, any."""
        if self.privacy is None:
            return spec.eta
        # A juror that is not done by `vote_after` picks a uniform arm, and has not ended wrongly.
        return self._blurred(spec, spec.eta + (1.0 - spec.eta) / spec.n_arms)

    def _blurred(self, spec: ExperimentSpec, chance: float) -> float:
        """How likely an arm is sent, if a juror means it with this probability."""
        p = self.truths(spec.n_arms) / GRID
        q = (1.0 - p) / (spec.n_arms - 1)
        return q + (p - q) * chance

    def failure(self, spec: ExperimentSpec, needed: int) -> float:
        """At most how likely a wrong arm gets ``needed`` picks.

        With privacy the chances that a juror ends with each bad arm add up to eta at most. If the
        picks needed are more than are to be expected, the tail is convex in the chance, and worst
        if jurors are alike and one arm has all of it (``docs/proofs.md``).
        """
        honest, must, cap = self.seats - self.liars, needed - self.liars, self.wrong_pick(spec)
        tail = binomial_tail(must, honest, probability=cap)
        if self.privacy is None:
            return tail
        other = tail
        if must - 1 >= honest * cap:
            unsure = self._blurred(spec, 1.0 / spec.n_arms)
            other = binomial_tail(must, honest, probability=unsure)
        return min(1.0, tail + (spec.n_arms - 2) * other)

    def to_dict(self) -> dict[str, Any]:
        """The name and all parameters, as JSON values."""
        return {**super().to_dict(), "privacy": NONE if self.privacy is None else self.privacy}

    def votes_needed(self, spec: ExperimentSpec) -> int:
        """c, the number of picks that decide: the least with failure at most delta.

        >>> ExperimentSpec(arms=10, scheme="jury").votes_needed
        10
        """
        return _votes_needed(self, spec)

    def check(self, spec: ExperimentSpec) -> None:
        """Refuse a jury that can never decide, or whose jurors pick before any can be done."""
        if spec.resets:
            raise SpecError(
                f"{spec.algorithm} never ends, and a juror says which arm it ended with.\n"
                "Use a subroutine that ends, such as ser3, or the scheme decentralized."
            )
        needed = self.votes_needed(spec)
        if needed > self.seats:
            raise SpecError(
                f"{self.seats} jurors cannot be sure: {needed} of them would have to agree.\n"
                f"{self._enough_seats(spec)}"
            )
        if self.privacy is not None and self.vote_after <= (fewest := fewest_pulls(spec)):
            raise SpecError(
                f"vote_after={self.vote_after} comes before anybody can be done, which takes "
                f"{fewest} plays at least.\nRaise vote_after, well above that."
            )

    def _enough_seats(self, spec: ExperimentSpec) -> str:
        seats = self.seats
        while seats < LARGEST:
            seats = min(LARGEST, seats + max(1, seats // 8))
            other = Jury(seats, self.seat_after, self.liars, self.privacy, self.vote_after)
            if other.votes_needed(spec) <= seats:
                return f"Use {seats} seats, a lower eta or a higher delta."
        return "No number of seats would do: use a lower eta" + (
            "." if self.privacy is None else ", or a higher privacy."
        )

    def fewest_players(self, spec: ExperimentSpec) -> int:
        """One for each seat."""
        return self.seats

    def too_few(self, spec: ExperimentSpec, n_players: int) -> str:
        """How many a jury of this size takes."""
        return (
            f"A jury of {self.seats} needs as many players, but there are {n_players}.\n"
            f"Use at least {self.seats} players, or fewer seats."
        )

    def guarantees(self, case: Case) -> Guarantees:
        """The theorem of ``docs/proofs.md``, and what follows."""
        return promises.guarantees(self, case)

    @classmethod
    def suited(cls, wish: Wish) -> ExperimentSpec:
        """As many seats as it takes not to hang; see ``sizes``."""
        return sizes.private(cls, wish) if wish.privacy else sizes.open_jury(cls, wish)

    def planning(self, spec: ExperimentSpec) -> Planning:
        """One message of each juror."""
        what = "the option it ended with"
        if self.privacy is not None:
            what = f"a blurred pick at play {self.vote_after:,}"
        return Planning(
            enough_players=self.seats,
            liars_tolerated=self.liars,
            asks=f"plays; {self.seats:,} devices say one thing: {what}",
            numbers={"seats": self.seats, "claimed at activation": self.seat_after},
        )


@lru_cache(maxsize=1024)
def _votes_needed(jury: Jury, spec: ExperimentSpec) -> int:
    counts = range(jury.liars + 1, jury.seats + 1)
    too_few = bisect_left(counts, True, key=lambda needed: jury.failure(spec, needed) <= spec.delta)
    return counts.start + too_few
