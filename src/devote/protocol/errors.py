"""Three ways to be wrong: a bad specification, a misdriven player, a misbehaving peer.

Messages name the value, the rule and the remedy; a reward or a tally never appears in one.
"""


class SpecError(ValueError):
    """The experiment cannot be run as specified."""


class ProtocolError(Exception):
    """Something happened that the protocol does not allow; no state was changed."""


class LocalProtocolError(ProtocolError):
    """You drove the player wrongly."""


class RemoteProtocolError(ProtocolError):
    """A peer sent what it must not."""
