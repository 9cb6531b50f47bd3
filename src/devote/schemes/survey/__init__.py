"""The survey: each device plays one arm, sends one noisy bit about it, and is not asked again."""

from devote.schemes.estimate import answers_expected, fewest_answers
from devote.schemes.survey.scheme import Survey

__all__ = ["Survey", "answers_expected", "fewest_answers"]
