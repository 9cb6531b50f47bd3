"""What an audit refuses, before it has cost anything."""

from devote.errors import DevoteError


class AuditError(DevoteError, ValueError):
    """An audit that cannot be made as asked."""
