"""The compiled loop and what runs it."""
