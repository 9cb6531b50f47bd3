"""The survey: each device plays one arm, sends one noisy bit about it, and is not asked again."""

from devote.schemes.survey.estimate import answers_expected, fewest_answers, liars_to_turn
from devote.schemes.survey.messages import Answer
from devote.schemes.survey.player import Respondent
from devote.schemes.survey.scheme import Survey
from devote.schemes.survey.tally import Answers

__all__ = [
    "Answer",
    "Answers",
    "Respondent",
    "Survey",
    "answers_expected",
    "fewest_answers",
    "liars_to_turn",
]
