"""Where messages are posted and read."""
