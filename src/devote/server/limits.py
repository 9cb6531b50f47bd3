"""How many requests at once, and how many per second: token buckets.

Buckets are kept per experiment and per voter, not per address. Addresses are personal data that
this server neither stores nor needs, a whole company may share one, and behind a proxy they
are all the proxy's; a proxy is the place to limit by address. A voter's bucket is charged only
once the signature holds, so that nobody can use up another's.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable


class RateLimit:
    """A bucket of ``burst`` tokens per key, refilled at ``rate`` per second.

    At most ``most`` keys are remembered, the latest; a forgotten one starts full.

    >>> limit = RateLimit(rate=1.0, burst=2.0, clock=lambda: 0.0)
    >>> [limit.wait("a") for _ in range(3)], limit.wait("b")
    ([0.0, 0.0, 1.0], 0.0)
    """

    def __init__(
        self,
        *,
        rate: float,
        burst: float,
        most: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        self.burst = burst
        self._most = most
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Take one token: 0 if there was one, else the seconds until there is."""
        if math.isinf(self.rate):
            return 0.0
        now = self._clock()
        tokens, then = self._buckets.pop(key, (self.burst, now))
        tokens = min(self.burst, tokens + max(0.0, now - then) * self.rate)
        wait = 0.0 if tokens >= 1.0 else (1.0 - tokens) / self.rate
        self._buckets[key] = (tokens if wait else tokens - 1.0, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait
