"""Three kinds of error: a bad specification, a wrong call of a player, a peer's bad message."""

from devote.errors import DevoteError


class SpecError(DevoteError, ValueError):
    """The experiment cannot be run as specified."""


class ProtocolError(DevoteError):
    """Something happened that the scheme does not allow; no state was changed."""


class LocalProtocolError(ProtocolError):
    """This program called a player out of turn, or with a bad value."""


class RemoteProtocolError(ProtocolError):
    """A peer sent a message that it may not send."""
