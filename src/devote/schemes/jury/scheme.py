"""The jury: a few players learn alone and send one message each; c of J decide.

A player claims a seat when it is activated for the ``seat_after``-th time, before it plays, so
that no reward can choose the jury. A juror learns as everybody does: alone. When it is down to one
arm it sends that arm; with ``privacy`` it sends it through randomized response, at its
``vote_after``-th activation whatever it has learned, so that the moment reveals nothing.
``docs/proofs.md`` has the theorem.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, cast

from devote.protocol.errors import SpecError
from devote.protocol.messages import Message
from devote.protocol.planning import Bound, Case, Guarantees, Planning, Promise, Wish
from devote.protocol.player import Player
from devote.protocol.scheme import About, Scheme, Sending, check
from devote.protocol.spec import ExperimentSpec
from devote.rules import merge
from devote.rules.randomizer import GRID, blur, truthful
from devote.schemes.jury import sizes
from devote.schemes.jury.sizes import LARGEST
from devote.schemes.jury.tally import Claim, Pick, Verdict
from devote.schemes.lone import (
    NONE,
    PRIVACY,
    check_privacy,
    fewest_pulls,
    one_device,
    right_answer,
    why_unproved,
)
from devote.theory import binomial_tail


class Juror(Player):
    """One player; a juror once its claim is among the first J on the board."""

    tally: Verdict

    def __init__(self, spec: ExperimentSpec, voter: str, n_players: int | None = None) -> None:
        super().__init__(spec, voter, n_players)
        self._jury = cast("Jury", spec.scheme)
        self._claimed = False
        self._picked = False

    @property
    def is_juror(self) -> bool:
        """Whether the board shows this player a seat."""
        return self.voter in self.tally.picks

    def still_wants(self, message: Message) -> bool:
        """A claim that comes after all seats are taken is moot, and so is a second pick."""
        if isinstance(message, Claim):
            return self.is_juror or not self.tally.is_full
        return self.tally.picks.get(self.voter, 0) is None

    def recall(self, message: Message) -> None:
        """A claim or a pick that is on the board has been made, and is not made again."""
        self._claimed = True
        self._picked = self._picked or isinstance(message, Pick)

    def _read(self) -> None:
        if self.tally.verdict is not None:
            self.conflicts += merge(self.learner.state, self.tally.shared_mask)

    def _wake(self, noise: float) -> None:
        if self.tally.verdict is not None or self._picked:
            return
        if not self.is_juror:
            if (
                not self._claimed
                and not self.tally.is_full
                and self.activations >= self._jury.seat_after
            ):
                self._claimed = True
                self._send([Claim(self.spec.name, self.voter)])
        elif self._jury.privacy is None:
            self._pick_if_done()
        elif self.activations >= self._jury.vote_after:
            self._pick(self._blurred(noise))

    def _learn(self, eliminated: list[int], *, was_reset: bool) -> None:
        if eliminated and self._jury.privacy is None and self.tally.verdict is None:
            self._pick_if_done()

    def _pick_if_done(self) -> None:
        if self.is_juror and not self._picked and self.best is not None:
            self._pick(self.best)

    def _pick(self, arm: int) -> None:
        self._picked = True
        self._send([Pick(self.spec.name, arm, self.voter)])

    def _blurred(self, noise: float) -> int:
        n_arms = self.spec.n_arms
        if self.best is None:
            return int(noise * n_arms)
        return blur(self.best, noise, self._jury.truths(n_arms), n_arms)

    def _own(self) -> dict[str, Any]:
        return {"claimed": self._claimed, "picked": self._picked}

    def _restore(self, own: dict[str, Any]) -> None:
        self._claimed, self._picked = own["claimed"], own["picked"]


def bounds(jury: "Jury", case: Case) -> tuple[Bound, ...]:
    """The theorem's bound; it is proved where the bound on one device is proved."""
    spec = case.spec
    needed = jury.votes_needed(spec)
    value = jury.failure(spec, needed)
    text = (
        f"A wrong answer needs {needed - jury.liars} of {jury.seats - jury.liars} honest jurors to "
        "pick one bad arm. They are chosen by activity alone and learn alone, each wrong with "
        f"probability at most {jury.wrong_pick(spec):.2g}"
    )
    if why := why_unproved(case, spec.eta):
        return (Bound("claimed", value, f"{text}, which is not proved here: {why}."),)
    text += f"; up to {jury.liars} more may lie" if jury.liars else ""
    text += ". As long as rewards do not change and pay all alike."
    return (Bound("proved", value, text),)


def _guarantees(jury: "Jury", case: Case) -> Guarantees:
    """Every bound and promise with its standing."""
    spec, needed = case.spec, jury.votes_needed(case.spec)
    found = bounds(jury, case)
    message_bound = 2 * jury.seats
    can_stall = jury.seats <= spec.n_arms * (needed - 1)
    one_answer = Promise(
        "one answer",
        "proved",
        f"{jury.seats} picks of {spec.n_arms} options give one of them {needed} or more: no split "
        "can stall.",
    )
    if can_stall:
        one_answer = Promise(
            "one answer",
            "measured",
            f"When no option gets {needed} picks the run ends as stalled; the more "
            "options are nearly equal, the likelier that is.",
        )
    privacy = Promise(
        "privacy",
        "refuted",
        "Rewards stay on the device. But a juror sends the option it ended with, when it is "
        "done. Set privacy to hide both.",
    )
    if jury.privacy is not None:
        privacy = Promise(
            "privacy",
            "proved",
            f"All that a device ever sends about its options is one blurred pick, sent at its "
            f"{jury.vote_after}th activation whatever its user did: {jury.privacy:g}-locally "
            "differentially private towards all its rewards. How often the device "
            "is used is not hidden.",
        )
    few_messages = Promise(
        "few messages",
        "proved",
        f"At most {message_bound} messages: a claim and a pick from each of "
        f"{jury.seats} jurors, if each claim is read before the next device wakes.",
    )
    return Guarantees(
        bounds=found,
        promises=(
            right_answer(found, ", for any number of devices"),
            one_device(case, spec.eta),
            few_messages,
            one_answer,
            privacy,
        ),
        message_bound=message_bound,
        can_stall=can_stall,
        no_sample_bound=(
            "Theorem 2 is about the most active players, and seats go to whoever comes first."
        ),
    )


PARAMETERS = {
    "seats": "It is the number of jurors.",
    "seat_after": "It is the activation at which a device claims a seat.",
    "liars": "It is how many jurors may lie.",
    "privacy": PRIVACY,
    "vote_after": "It is the activation at which a private juror sends its pick.",
}


@dataclass(frozen=True)
class Jury(Scheme):
    """Everybody learns alone; the first arm that enough of ``seats`` jurors pick is the answer.

    A seat is claimed at the ``seat_after``-th activation. Up to ``liars`` jurors may lie.
    ``privacy`` is the e of e-local differential privacy for each juror's one message; it is then
    sent at the ``vote_after``-th activation.
    """

    name: ClassVar[str] = "jury"
    about: ClassVar[About] = About(
        summary="a few devices learn alone and send one pick each; c of J decide",
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
        """A bound on the probability that an honest juror picks a given bad arm.

        Without privacy it also bounds the probability that it picks any bad arm.
        """
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
                f"{spec.algorithm} never ends, and a juror sends the arm it ended with.\n"
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
        return _guarantees(self, case)

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
            asks=f"plays; {self.seats:,} devices send one message: {what}",
            numbers={"seats": self.seats, "claimed at activation": self.seat_after},
        )


@lru_cache(maxsize=1024)
def _votes_needed(jury: Jury, spec: ExperimentSpec) -> int:
    counts = range(jury.liars + 1, jury.seats + 1)
    too_few = bisect_left(counts, True, key=lambda needed: jury.failure(spec, needed) <= spec.delta)
    return counts.start + too_few
