"""The independent-clock engine on a GPU: the same functions, a thread for each player."""

# Here, so that every process that can run trials knows the same jitable functions: a results
# file keeps a digest of their code.
from devote.simulate.engine.gpu import heard, in_order, steps, tables

__all__ = ["heard", "in_order", "steps", "tables"]
