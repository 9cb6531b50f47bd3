"""Players who learn alone, in the compiled simulator.

Paper: section 5.1, 1-privacy.
"""

from devote.simulator.part import Ending, Part


def winners(end: Ending) -> list[int]:
    """The arms that somebody holds, in order."""
    return [k for k in range(len(end.held)) if end.held[k]]


PART = Part(winners, alone=True, in_passes=True)
