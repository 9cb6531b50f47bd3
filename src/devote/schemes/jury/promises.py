"""What a jury is worth. ``docs/proofs.md`` has the theorem."""

from typing import TYPE_CHECKING

from devote.protocol.planning import Bound, Case, Guarantees, Promise
from devote.schemes.lone import one_device, right_answer, why_unproved

if TYPE_CHECKING:
    from devote.schemes.jury.scheme import Jury


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


def guarantees(jury: "Jury", case: Case) -> Guarantees:
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
            f"When no option gets {needed} picks the run ends stalled, and says so; the more "
            "options are nearly equal, the likelier that is.",
        )
    privacy = Promise(
        "privacy",
        "refuted",
        "Rewards stay on the device. But a juror says which option it ended with, and when it was "
        "done. Set privacy to hide both.",
    )
    if jury.privacy is not None:
        privacy = Promise(
            "privacy",
            "proved",
            f"All that a device ever says of its options is one blurred pick, sent at its "
            f"{jury.vote_after}th activation whatever its user did: {jury.privacy:g}-locally "
            "differentially private towards everything the user ever does. How often the device "
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
