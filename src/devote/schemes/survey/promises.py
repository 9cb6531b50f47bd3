"""What a survey is worth: its subroutine's own proof, and differential privacy."""

from typing import TYPE_CHECKING

from devote.protocol.promises import Bound, Case, Promise
from devote.schemes.lone import alone, right_answer, why_unproved
from devote.schemes.survey.estimate import answers_expected, liars_to_turn

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


def bounds(survey: "Survey", case: Case) -> tuple[Bound, ...]:
    """The subroutine's own bound at ``delta`` and at the epsilon that the noise leaves."""
    delta = case.spec.delta
    text = f"The board runs {case.spec.algorithm} on all answers"
    if survey.privacy is not None:
        text += (
            f". Noise leaves {survey.slope:.3g} of the distance between arms, and the board asks "
            "for that much of epsilon"
        )
    if why := why_unproved(case, delta):
        return (Bound("claimed", delta, f"{text}. Its guarantee is not proved here: {why}."),)
    found = alone(case.spec, delta).bound
    assert found is not None
    text += (
        ", whatever the number of devices. As long as rewards do not change and pay all alike, "
        "and devices tell the truth."
    )
    return (Bound("proved", min(found, delta), text),)


def promises(survey: "Survey", case: Case) -> tuple[Promise, ...]:
    """Every promise with its standing."""
    spec = case.spec
    expected = answers_expected(spec)
    about = "" if expected is None else f" About {expected:,} are needed if all arms pay alike."
    each = 1_000 if expected is None else max(1, expected // spec.n_arms)
    privacy = Promise(
        "privacy",
        "refuted",
        "A device tells what its plays paid, one bit each. Set privacy to hide it.",
    )
    if survey.privacy is not None:
        times = "" if survey.answers == 1 else f", {survey.answers} times at most"
        privacy = Promise(
            "privacy",
            "proved",
            f"All that a device ever says is one blurred bit{times}, {survey.reply_after:g} "
            "seconds or a little more after its choice, at a moment that does not depend on what "
            f"its user did: {survey.privacy:g}-locally differentially private towards everything "
            "the user ever does. Which arm it played, and that it was used, is not hidden.",
        )
    return (
        right_answer(bounds(survey, case)),
        Promise(
            "few messages",
            "proved",
            f"At most {survey.answers} from each device, ever, and none once it is decided.{about}",
        ),
        Promise(
            "one answer",
            "measured",
            "There is one learner, so there is one answer. When all devices have answered and it "
            "is not there yet, more devices must join: the run ends unfinished, and says so.",
        ),
        Promise(
            "liars",
            "proved",
            f"With {each:,} answers about an arm one liar moves its mean by at most "
            f"{spec.epsilon / (each * survey.subroutine_epsilon(spec)):.2g}: "
            f"{liars_to_turn(spec, each):,} are needed to lift it by {spec.epsilon:g} over "
            "another. Fewer can turn a close call.",
        ),
        privacy,
    )
