"""What can be wrong with a request to reproduce the paper."""

from devote.errors import DevoteError


class StudyError(DevoteError, ValueError):
    """A figure that does not exist, or settings or a folder that cannot be used."""
