"""The one error of this layer."""


class ProblemError(ValueError):
    """A problem that cannot be posed: the message gives the value, the rule and the remedy."""
