"""Whether a board takes a message or enrols a voter: the one place for it, for every board.

``admit`` asks in one order: kind, experiment, signature, enrolment, revocation, closed, bounds, and
last the rules of the scheme. A message that is there already is a duplicate also from a voter who
was revoked since, and on a board that was closed since. ``admit_voter`` asks alike, and leaves the
invite, which is taken or not in one step, to the store. A store answers by a ``Ledger``, which is
asked only for what the order has come to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from devote.boards.board import (
    Envelope,
    ExperimentClosed,
    Outcome,
    PostingRejected,
    VoterRevoked,
)
from devote.boards.identity import verify
from devote.protocol import ExperimentSpec, ProtocolError
from devote.protocol.messages import Scope, Withdrawal, check_fields
from devote.protocol.scheme import misplaced

if TYPE_CHECKING:
    from devote.boards.store import Ledger

Cause: TypeAlias = Literal["closed", "revoked"]

REJECTED: dict[str, type[PostingRejected]] = {"closed": ExperimentClosed, "revoked": VoterRevoked}
"""The errors of a board that takes nothing from a voter just now, by the cause."""

SETTINGS = ("fingerprint", "enrolment", "players", "baseline", "log")
"""What makes an experiment of one name another one."""

Check: TypeAlias = Callable[[Envelope, Scope], bool]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a request, the number of a posted message, and why it was refused.

    ``cause`` is set if it was not refused for its contents: nothing new is taken at all, or
    nothing from this voter.
    """

    outcome: Outcome
    number: int = 0
    reason: str = ""
    cause: Cause | None = None

    def outcome_or_raise(self) -> Outcome:
        """The outcome; PostingRejected if the board takes nothing."""
        if self.cause is not None:
            raise REJECTED[self.cause](self.reason)
        return self.outcome


def refused(*lines: str, cause: Cause | None = None) -> Receipt:
    """A receipt for what is against the rules, with what to do instead."""
    return Receipt(Outcome.REFUSED, reason="\n".join(lines), cause=cause)


def _unsigned(what: str) -> str:
    return (
        f"The signature is not this voter's over this {what}, board and specification.\n"
        "Sign what docs/wire.md says with the voter's own key."
    )


UNSIGNED = refused(_unsigned("request"))
NOT_ENROLLED = refused("This voter is not enrolled in the experiment.", "Enrol first.")
REVOKED = refused(
    "The operator has revoked this device.",
    "It can read, and sends nothing more.",
    cause="revoked",
)


def refusal(
    envelope: Envelope, spec: ExperimentSpec, scope: Scope, check: Check = verify
) -> str | None:
    """Why no board of an experiment may ever take an envelope, or None if one may."""
    try:
        check_fields(envelope.message, spec.n_arms)
    except ProtocolError as error:
        return str(error)
    if reason := misplaced(spec, envelope.message):
        return reason
    if not check(envelope, scope):
        return _unsigned("message")
    return None


def admit(
    envelope: Envelope, ledger: "Ledger", most: int | None = None, check: Check = verify
) -> Receipt | None:
    """Why a message is not taken now, or None if it is; ``most`` bounds those of one voter."""
    message, experiment = envelope.message, ledger.experiment
    voter = message.voter
    if reason := refusal(envelope, experiment.spec, experiment.scope, check):
        return refused(reason)
    if not ledger.is_enrolled(voter):
        return NOT_ENROLLED
    if (number := ledger.number_of(message)) is not None:
        return Receipt(Outcome.DUPLICATE, number)
    if ledger.is_revoked(voter):
        return REVOKED
    if receipt := _closed(ledger):
        return receipt
    if most is not None and ledger.count_of(voter) >= most:
        return refused(f"A voter may post at most {most} messages.", "Post no more.")
    if reason := ledger.tally.refusal(message):
        return refused(reason)
    return None


def admit_withdrawal(envelope: Envelope, ledger: "Ledger") -> Receipt | None:
    """Why the operator cannot withdraw an arm now, or None if that is possible."""
    message, spec = envelope.message, ledger.experiment.spec
    if Withdrawal not in spec.scheme.about.messages:
        return refused(
            f"In the scheme {spec.scheme.name} nothing is proved once an option was withdrawn.",
            "Close the experiment, and open another without the option.",
        )
    if ledger.number_of(message) is not None:
        return refused("This option is withdrawn already.", "There is nothing to do.")
    if receipt := _closed(ledger):
        return receipt
    reason = ledger.tally.refusal(message)
    return None if reason is None else refused(reason)


def admit_voter(voter: str, ledger: "Ledger", most: int | None = None) -> Receipt | None:
    """Why a voter whose request is signed is not enrolled now, or None if it needs but an invite.

    ``most`` bounds the voters beside the experiment's own players.
    """
    if ledger.is_enrolled(voter):
        return REVOKED if ledger.is_revoked(voter) else Receipt(Outcome.DUPLICATE)
    if receipt := _closed(ledger):
        return receipt
    bounds = [bound for bound in (ledger.experiment.players, most) if bound is not None]
    if not bounds or ledger.experiment.enrolled < min(bounds):
        return None
    full = f"This experiment has all of its {min(bounds)} devices."
    return refused(full, "Take part in another experiment.")


def _closed(ledger: "Ledger") -> Receipt | None:
    """Why an experiment takes nothing new, or None if it does."""
    state, now = ledger.standing()
    if (why := state.why_closed(ledger.experiment.name, now)) is None:
        return None
    return refused(why, "Nothing new is taken; what is there can be read.", cause="closed")


def no_invite(given: str | None) -> Receipt:
    """The refusal of a voter without an invite, or with one that cannot be used.

    It does not say why it cannot: who finds an invite learns nothing of it.
    """
    fault = (
        "This experiment needs an invite, and none was given."
        if given is None
        else "This invite is used already, expired, revoked or unknown."
    )
    return refused(fault, "Ask the operator for one; each is good for one device.")


def admit_experiment(
    record: Mapping[str, Any],
    there: tuple[object, ...] | None,
    *,
    deleted: bool,
    count: int,
    most: int | None,
) -> Receipt | None:
    """Why an experiment is not opened, or None if it is.

    ``record`` has its facts. ``there`` are the settings of the one of its name, ``count`` is how
    many there are, of ``most``.
    """
    name = record["name"]
    if not name.strip("."):
        return refused(f"name={name!r} cannot be part of an address.", "Use a letter or a digit.")
    if there == tuple(record[name] for name in SETTINGS):
        return Receipt(Outcome.DUPLICATE)
    if there is not None:
        return refused(
            f"An experiment {name!r} with other settings is there already.",
            "An experiment never changes: choose another name.",
        )
    if deleted:
        return refused(
            f"An experiment {name!r} was deleted here, and its name stays taken.",
            "Choose another name.",
        )
    if most is not None and count >= most:
        return refused(
            f"There are {count} experiments, and at most {most} are allowed.",
            "Raise the limit, or use another store.",
        )
    return None
