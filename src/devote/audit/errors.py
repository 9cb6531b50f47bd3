"""What an audit refuses, before it has cost anything."""


class AuditError(ValueError):
    """An audit that cannot be made as asked."""
