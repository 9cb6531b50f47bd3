"""What a server cannot be started with."""

from devote.errors import DevoteError


class ServerError(DevoteError, ValueError):
    """A setting, an address or a certificate that cannot be used."""
