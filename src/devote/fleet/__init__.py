"""A device in the world: player, board, storage, clock and dice."""
