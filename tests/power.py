"""How many failures a test of a promise may see: few enough to catch a rate twice as high."""

from devote.theory import binomial_tail

FALSE_ALARM = 1e-6
POWER = 0.9


def most_failures(trials: int, promised: float, *, false_alarm: float = FALSE_ALARM) -> int:
    """The most failures of independent trials that a promised rate lets pass.

    More come with probability ``false_alarm`` at most if the rate is what is promised, and with
    probability .9 at least if it is twice that; an AssertionError if there are too few trials.

    >>> most_failures(1_000, 0.05)
    86
    """
    allowed = next(
        count
        for count in range(trials + 1)
        if binomial_tail(count + 1, trials, probability=promised) <= false_alarm
    )
    caught = binomial_tail(allowed + 1, trials, probability=min(1.0, 2 * promised))
    assert caught >= POWER, f"{trials} trials find a doubled rate with probability {caught:.2f}"
    return allowed
