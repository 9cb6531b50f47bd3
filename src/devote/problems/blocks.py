"""Players cut by index into consecutive blocks: the first players, then the next ones."""

import math
from collections.abc import Sequence

from devote.problems.errors import ProblemError, player_count


def block_sizes(fractions: Sequence[float], n_players: int) -> list[int]:
    """How many players each block holds; every block holds at least one.

    A boundary falls on the nearest player, upward from halfway, so that an activity and
    groups with the same fractions are cut at the same player.

    Paper: section 5.1, problem 2, "two groups of sizes N/2".

    >>> block_sizes([0.5, 0.5], 32), block_sizes([0.5, 0.5], 5)
    ([16, 16], [3, 2])
    """
    n = player_count(n_players)
    ends = [math.floor(math.fsum(fractions[: j + 1]) * n + 0.5) for j in range(len(fractions))]
    ends[-1] = n
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    if min(sizes) < 1:
        raise ProblemError(
            f"n_players={n} cut by the fractions {', '.join(map(repr, fractions))} leaves a "
            "group without players.\nUse more players or larger fractions."
        )
    return sizes
