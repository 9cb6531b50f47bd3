"""What every board refuses by the envelope and the specification alone, and what it answers.

Who is enrolled and what is stored is each board's own; what depends on the messages that are
there already is the tally's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from devote.boards.board import Envelope, ExperimentClosed, Outcome, PostingBarred, VoterRevoked
from devote.boards.identity import verify
from devote.protocol import ExperimentSpec, ProtocolError
from devote.protocol.messages import check_fields
from devote.protocol.wire import Scope

Cause: TypeAlias = Literal["closed", "revoked"]

BARRED: dict[str, type[PostingBarred]] = {"closed": ExperimentClosed, "revoked": VoterRevoked}
"""What a device is told when a board takes nothing from it, by the cause."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a request, the number of a posted message, and why it was refused.

    ``cause`` is set if it was not refused for what it says: nothing new is taken at all, or
    nothing from this voter.
    """

    outcome: Outcome
    number: int = 0
    reason: str = ""
    cause: Cause | None = None

    def settled(self) -> Outcome:
        """The outcome; PostingBarred if the board takes nothing."""
        if self.cause is not None:
            raise BARRED[self.cause](self.reason)
        return self.outcome


def refused(*lines: str, cause: Cause | None = None) -> Receipt:
    """A receipt for what is against the rules, with what to do instead."""
    return Receipt(Outcome.REFUSED, reason="\n".join(lines), cause=cause)


UNSIGNED = refused(
    "The signature is not this voter's over this request, board and specification.",
    "Sign what docs/wire.md says with the voter's own key.",
)


def no_invite(given: str | None) -> Receipt:
    """The refusal of a voter without an invite, or with one that cannot be used.

    It does not tell why it cannot: who finds an invite learns nothing of it.
    """
    fault = (
        "This experiment needs an invite, and none was given."
        if given is None
        else "This invite is used already, expired, revoked or unknown."
    )
    return refused(fault, "Ask the operator for one; each is good for one device.")


NOT_ENROLLED = refused("This voter is not enrolled in the experiment.", "Enrol first.")


def refusal(
    envelope: Envelope,
    spec: ExperimentSpec,
    scope: Scope,
    check: Callable[[Envelope, Scope], bool] = verify,
) -> str | None:
    """Why no board may ever take an envelope, whatever its tally says, or None if one may."""
    try:
        check_fields(envelope.message, spec.n_arms)
    except ProtocolError as error:
        return str(error)
    if not check(envelope, scope):
        return (
            "The signature is not this voter's over this message, board and specification.\n"
            "Sign what docs/wire.md says with the voter's own key."
        )
    return None
