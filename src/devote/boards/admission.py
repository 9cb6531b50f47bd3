"""Which messages a board takes: one rule for all boards.

A seat, the one-vote rule and storage are each board's own; what can be told from the envelope
and the specification alone is told here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from devote.boards.board import Envelope, Outcome
from devote.boards.identity import verify
from devote.protocol import ExperimentSpec, ProtocolError, Seat
from devote.protocol.messages import from_dict, to_dict


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a posted message, under which number it stands, and why it was denied."""

    outcome: Outcome
    number: int = 0
    reason: str = ""


def denied(what: str, remedy: str) -> Receipt:
    """A receipt for what is against the rules, with what to do instead."""
    return Receipt(Outcome.DENIED, reason=f"{what}\n{remedy}")


NO_SEAT = (
    "This voter has no seat in the experiment; only voters with a seat may post.\n"
    "Claim a seat first."
)


def refusal(
    envelope: Envelope,
    spec: ExperimentSpec,
    check: Callable[[Envelope], bool] = verify,
) -> str | None:
    """Why no board of this experiment may take an envelope, or None if one may.

    A term above 0 is denied where the algorithm never resets: the highest term wins, so one
    such message would void every vote. A seat is denied where there is no such seat.
    """
    message = envelope.message
    if message.experiment != spec.name:
        return (
            f"A message for experiment {message.experiment!r} was posted to {spec.name!r}.\n"
            "Post each message to its own experiment."
        )
    try:
        from_dict(to_dict(message), spec.n_arms)
    except ProtocolError as error:
        return str(error)
    if isinstance(message, Seat):
        seats = spec.jury_size if spec.protocol == "jury" else 0
        if message.seat > seats:
            return f"seat={message.seat} was claimed in a jury of {seats}.\nDiscard the message."
    elif message.term > 0 and spec.phi == 0.0:
        return (
            f"term={message.term} was given, but {spec.algorithm} never resets and stays in "
            "term 0.\nDiscard the message."
        )
    if not check(envelope):
        return (
            "The signature is not this voter's over this message.\n"
            "Sign the message's byte form with the voter's own key."
        )
    return None
