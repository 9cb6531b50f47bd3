"""What a survey is worth: its subroutine's own proof, and differential privacy."""

from dataclasses import replace
from typing import TYPE_CHECKING

from devote.protocol.planning import Bound, Case, Guarantees, Promise
from devote.schemes.lone import alone, right_answer, why_unproved
from devote.schemes.survey.estimate import answers_expected

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey


def users_differ(survey: "Survey") -> str:
    """Why several answers of each device are not covered where options pay users differently."""
    return (
        f"each device gives {survey.answers} answers, and those of one device depend on each "
        "other if options pay users differently. With 20 answers each, surveys were measured "
        "wrong in .21 to .31 of runs at delta .05. With answers = 1 users may differ."
    )


def bounds(survey: "Survey", case: Case) -> tuple[Bound, ...]:
    """The subroutine's own bound at ``delta`` and at the epsilon that the noise leaves."""
    delta = case.spec.delta
    if case.users_differ and survey.answers == 1:
        # Who answers next is anybody, so that its reward is one of all users alike.
        case = replace(case, broken="")
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
    text += ", whatever the number of devices. As long as rewards do not change"
    if survey.answers == 1:
        text += " (users may differ: each answers once)"
    else:
        text += " and pay all users alike"
    text += f"; up to {survey.liars:,} answers may lie" if survey.liars else "; no answer lies"
    text += "." if survey.answers == 1 else f". Users alike: {users_differ(survey)}"
    return (Bound("proved", min(found, delta), text),)


def guarantees(survey: "Survey", case: Case) -> Guarantees:
    """Every bound and promise with its standing; it never stalls, as more answers settle it."""
    expected = answers_expected(case.spec)
    about = (
        "" if expected is None else f" An estimate: about {expected:,} if all options pay alike."
    )
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
    found = bounds(survey, case)
    rows = (
        right_answer(found),
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
        _liars(survey),
        privacy,
    )
    return Guarantees(
        bounds=found,
        promises=rows,
        can_stall=False,
        no_sample_bound="Theorem 2 is about Decentralized Elimination, not about survey.",
    )


def _liars(survey: "Survey") -> Promise:
    """How many lying answers are tolerated, by proof: none unless it is asked for."""
    if survey.liars:
        each = survey.answers
        devices = "" if each == 1 else f", that is {survey.liars_tolerated:,} devices of {each}"
        return Promise(
            "liars",
            "proved",
            f"The error stays as promised although up to {survey.liars:,} answers lie{devices}, "
            "whatever they say and whenever they come. Beyond that nothing is promised.",
        )
    return Promise(
        "liars",
        "refuted",
        "Nothing is promised if even one answer lies: 20 lies that came first turned 40 of 40 "
        "surveys of some 12,000 answers. Set liars to the number of lying answers to tolerate; "
        "devote plan says what that costs.",
    )
