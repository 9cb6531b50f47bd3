"""The independent-clock engine on a GPU: the same functions, a thread for each player."""
