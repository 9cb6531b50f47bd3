"""A store that any number of servers share: a replicated log on NATS JetStream.

``log`` is the shared log, written and read in its order; ``store`` keeps what it comes to in the
tables of a ``SqliteStore`` and answers from there; ``invites`` has the invites that are not used.
"""
