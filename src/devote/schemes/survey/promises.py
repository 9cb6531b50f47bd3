"""What a survey is worth: its subroutine's own proof, and differential privacy."""

from typing import TYPE_CHECKING

from devote.protocol.promises import Bound, Case, Promise, Standing
from devote.schemes.lone import alone, why_unproved
from devote.schemes.survey.estimate import answers_expected, liars_to_turn

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


def bounds(case: Case, survey: "Survey") -> tuple[Bound, ...]:
    """The subroutine's own bound at ``delta`` and at the epsilon that the noise leaves."""
    delta = case.spec.delta
    text = (
        f"The board runs {case.spec.algorithm} on answers whose means lie "
        f"{survey.slope:.3g} times as far apart as the arms', and asks it for that much of epsilon"
    )
    if why := why_unproved(case, delta):
        return (Bound("claimed", delta, f"{text}. Its guarantee is not proved here: {why}."),)
    found = alone(case.spec, delta).bound
    assert found is not None
    text += ", whatever the number of devices"
    return (
        Bound(
            "proved",
            min(found, delta),
            f"{text}. As long as rewards do not change and pay all alike, and devices tell the "
            "truth.",
        ),
    )


def promises(case: Case, survey: "Survey") -> tuple[Promise, ...]:
    """Every promise with its standing."""
    [row] = bounds(case, survey)
    standing: Standing = "proved" if row.name == "proved" else "claimed"
    return (
        Promise(
            "right answer",
            standing,
            f"Wrong with probability at most {row.value:.2g}. {row.text}",
        ),
        few_messages(case, survey),
        one_answer(case),
        liars(case),
        privacy(survey),
    )


def few_messages(case: Case, survey: "Survey") -> Promise:
    """One message per answer."""
    expected = answers_expected(case.spec)
    about = "" if expected is None else f" About {expected:,} are needed if all arms pay alike."
    return Promise(
        "few messages",
        "proved",
        f"At most {survey.answers} from each device, ever, and none once it is decided.{about}",
    )


def one_answer(case: Case) -> Promise:
    """Whether it ends."""
    return Promise(
        "one answer",
        "measured",
        "There is one learner, so there is one answer. When all devices have answered and it is "
        "not there yet, more devices must join: the run ends unfinished, and says so.",
    )


def liars(case: Case) -> Promise:
    """How many of them it takes."""
    spec = case.spec
    expected = answers_expected(spec)
    each = 1_000 if expected is None else max(1, expected // spec.n_arms)
    needed = liars_to_turn(spec, each)
    return Promise(
        "liars",
        "proved",
        f"With {each:,} answers about an arm one liar moves its mean by at most "
        f"{spec.epsilon / (each * spec.scheme.subroutine_epsilon(spec)):.2g}: {needed:,} are "
        f"needed to lift it by {spec.epsilon:g} over another. Fewer can turn a close call.",
    )


def privacy(survey: "Survey") -> Promise:
    """Local differential privacy of all that a device ever says, where it was asked for."""
    if survey.privacy is None:
        return Promise(
            "privacy",
            "refuted",
            "A device tells what its plays paid, one bit each. Set privacy to hide it.",
        )
    each = "" if survey.answers == 1 else f", {survey.answers} times at most"
    return Promise(
        "privacy",
        "proved",
        f"All that a device ever says is one blurred bit{each}, {survey.reply_after:g} seconds "
        f"after its choice whatever its user did: {survey.privacy:g}-locally differentially "
        "private towards everything the user ever does. Which arm it played, and that it was "
        "used, is not hidden.",
    )
