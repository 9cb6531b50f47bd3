"""Three ways to be wrong: a bad specification, a misdriven player, a misbehaving peer."""

from devote.errors import DevoteError


class SpecError(DevoteError, ValueError):
    """The experiment cannot be run as specified."""


class ProtocolError(DevoteError):
    """Something happened that the scheme does not allow; no state was changed."""


class LocalProtocolError(ProtocolError):
    """You drove the player wrongly."""


class RemoteProtocolError(ProtocolError):
    """A peer sent what it must not."""
