"""The independent-clock engine on a GPU: the same functions, a thread for each player."""

# Here, so that every process that can run trials knows the same jitable functions: a results
# file keeps a digest of their code.
from devote.simulate.engine.gpu.tables import arena_of_one, look_at, pick_up, put_down, put_own

__all__ = ["arena_of_one", "look_at", "pick_up", "put_down", "put_own"]
