"""devote: devices vote for the best of K options."""
