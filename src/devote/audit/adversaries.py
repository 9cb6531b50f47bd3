"""Adversaries: from what a player sends to a guess at what it keeps to itself.

The first needs no training: whoever knows the algorithm knows what a vote means. The others learn
from runs of their own (they know the algorithm, so they can simulate it) how often each thing they
see goes with each thing they want to know, and guess the likelier.

Paper: Definition 3.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeAlias

from devote.audit.views import View

Guess: TypeAlias = Callable[[View], int]
BINS = 24
"""Stretches of time that a learning adversary tells apart, equally frequent in its own runs."""

SILENT = -1


def name_arm(view: View) -> int:
    """The arm that the player's messages leave; by chance among several."""
    return _by_chance(view, view.left)


def name_arm_knowing_others(view: View) -> int:
    """The same, but several are told apart by what everybody said: the answer, if it is left."""
    return view.answer if view.answer in view.left else _by_chance(view, view.left)


def _by_chance(view: View, arms: Sequence[int]) -> int:
    # Nobody but the dice knows: a guess that looks at no secret.
    arms = arms or range(view.n_arms)
    return arms[int(view.luck * len(arms))]


def learn(
    views: Sequence[View], seen: Callable[[View], Hashable], secret: Callable[[View], int]
) -> Guess:
    """Guess the secret that most often went with what is seen; the commonest if that is new."""
    counts: defaultdict[Hashable, Counter[int]] = defaultdict(Counter)
    overall = Counter(secret(view) for view in views)
    for view in views:
        counts[seen(view)][secret(view)] += 1
    [(usual, _)] = overall.most_common(1)

    def guess(view: View) -> int:
        found = counts.get(seen(view))
        return usual if found is None else found.most_common(1)[0][0]

    return guess


def votes_on(arms: Collection[int]) -> Callable[[View], Hashable]:
    """Which of these arms the player's messages are about, and in which order."""

    def seen(view: View) -> Hashable:
        return tuple(arm for arm in view.named if arm in arms)

    return seen


def votes_on_knowing_others(arms: Collection[int]) -> Callable[[View], Hashable]:
    """The same; of a player who named none, which of them the others named most."""

    def seen(view: View) -> Hashable:
        if own := votes_on(arms)(view):
            return own
        tally = Counter(sent.arm for sent in view.others)
        most = max(tally[arm] for arm in arms)
        return "others", tuple(arm for arm in arms if tally[arm] == most)

    return seen


def stretches(views: Sequence[View], when: Callable[[View], float]) -> Callable[[View], int]:
    """In which stretch of time, learned from these runs, ``when`` falls; or SILENT."""
    times = sorted(when(view) for view in views if view.own)
    edges = [times[len(times) * i // BINS] for i in range(1, BINS)] if times else []
    return lambda view: bisect_right(edges, when(view)) if view.own else SILENT


def time_of_first(views: Sequence[View]) -> Callable[[View], Hashable]:
    """When the player was first heard of, in stretches learned from these runs."""
    return stretches(views, lambda view: view.own[0].time)


def rank_of_first(view: View) -> Hashable:
    """Which share of the others had been heard of before the player was, in steps."""
    if not view.own:
        return SILENT
    mine = view.own[0].time
    earlier = {sent.player for sent in view.others if sent.time < mine}
    return BINS * len(earlier) // view.n_players
