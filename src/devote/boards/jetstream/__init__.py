"""A store that any number of servers share: a replicated log on NATS JetStream.

``fold`` says what a log comes to, and needs no network. ``follower`` reads a log in its order,
``log`` writes to it; ``catalogue`` has the experiments and ``invites`` the invites. ``store`` puts
them together into what a server asks of a store.
"""
