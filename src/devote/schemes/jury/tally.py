"""The claims and picks on a board, and the verdict they come to.

The first J claims in the board's order are the jury. The verdict is the first arm with c picks,
again in the board's order, and stands from then on.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from devote.protocol.messages import ARM, Message, message
from devote.protocol.scheme import Status, Tally
from devote.protocol.spec import ExperimentSpec
from devote.rules.randomizer import GRID

if TYPE_CHECKING:
    from devote.schemes.jury.scheme import Jury


@message("claim")
@dataclass(frozen=True, slots=True)
class Claim:
    """``voter`` asks for a seat; the first J claims on the board have one."""

    experiment: str
    voter: str


@message("pick", question=(), arm=ARM)
@dataclass(frozen=True, slots=True)
class Pick:
    """``voter``, a juror, ended with ``arm``; with ``privacy`` that is blurred."""

    experiment: str
    arm: int
    voter: str


class Verdict(Tally):
    """The jury as its board shows it."""

    def __init__(self, spec: ExperimentSpec) -> None:
        super().__init__(spec)
        jury = cast("Jury", spec.scheme)
        self.seats, self.needed = jury.seats, jury.votes_needed(spec)
        self.picks: dict[str, int | None] = {}
        """Each juror's pick, None until it is there; in the order of their claims."""
        self.verdict: int | None = None
        self._counts = [0] * spec.n_arms

    @property
    def is_full(self) -> bool:
        """Whether every seat is taken."""
        return len(self.picks) >= self.seats

    @property
    def counts(self) -> tuple[int, ...]:
        """Picks of each arm."""
        return tuple(self._counts)

    @property
    def shared(self) -> tuple[int, ...]:
        """All arms; the verdict alone once there is one."""
        return tuple(range(self.spec.n_arms)) if self.verdict is None else (self.verdict,)

    @property
    def shared_mask(self) -> list[int]:
        """1 for each arm still open, as ``merge`` reads it."""
        return [int(self.verdict in (None, k)) for k in range(self.spec.n_arms)]

    @property
    def answer(self) -> tuple[int, ...]:
        """The verdict; before it the arms, most picks first; after a stall those with picks."""
        if self.verdict is not None:
            return (self.verdict,)
        arms = sorted(self.shared, key=lambda k: (-self._counts[k], k))
        stalled = self.status() == "stalled"
        return tuple(k for k in arms if self._counts[k] or not stalled)

    def _refusal(self, message: Message) -> str | None:
        if isinstance(message, Claim):
            if message.voter not in self.picks and self.is_full:
                return f"All {self.seats} seats of the jury are taken.\nWait for the verdict."
            return None
        assert isinstance(message, Pick)
        if message.voter not in self.picks:
            return "This voter has no seat in the jury.\nOnly jurors pick: claim a seat first."
        if self.picks[message.voter] not in (None, message.arm):
            return "This juror has picked another arm.\nA juror picks once."
        return None

    def add(self, message: Message) -> bool:
        """Seat a claimant, or count a juror's pick; returns whether it was new."""
        if isinstance(message, Claim):
            if message.voter in self.picks or self.is_full:
                return False
            self.picks[message.voter] = None
            return True
        assert isinstance(message, Pick)
        if self.picks.get(message.voter, 0) is not None:
            return False
        self.picks[message.voter] = message.arm
        self._counts[message.arm] += 1
        if self.verdict is None and self._counts[message.arm] >= self.needed:
            self.verdict = message.arm
        return True

    def status(self, n_players: int | None = None) -> Status:
        """Agreed with the verdict; stalled when all picks are in and no arm has enough."""
        if self.verdict is not None:
            return "agreed"
        return "stalled" if self.is_full and sum(self._counts) == self.seats else "open"

    def view(self) -> dict[str, Any]:
        """Picks of each option against how many decide, and how full the jury is."""
        jury, most = cast("Jury", self.spec.scheme), max(self._counts)
        ahead = [k for k, count in enumerate(self._counts) if count == most]
        taken, picked = len(self.picks), sum(self._counts)
        notes = [f"The first option that {self.needed} of {self.seats} jurors pick is the answer."]
        if jury.privacy is not None:
            share = jury.truths(self.spec.n_arms) / GRID
            notes.append(
                "Noise hides what each juror found: it sends its own pick with probability "
                f"{100.0 * share:.3g} % and any other option otherwise, so poor options get picks "
                "too."
            )
        return {
            "heading": "picks",
            "counts": list(self._counts),
            "needed": self.needed,
            "facts": [],
            "notes": notes,
            "progress": [
                ["seats taken", taken, self.seats, f"{taken:,} of {self.seats:,}"],
                ["jurors who have picked", picked, self.seats, f"{picked:,} of {self.seats:,}"],
            ],
            "leader": ahead[0] if len(ahead) == 1 else None,
            "states": [""] * self.spec.n_arms,
        }
