"""Counters for Prometheus: of requests and messages, never of voters."""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPMethod

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# They would tell when the first message of an experiment came.
disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Seen:
    """One experiment in numbers; ``voters`` who have sent anything, None if there are too many.

    ``status`` is that of its messages, or closed or archived.
    """

    name: str
    enrolled: int
    messages: int
    status: str
    voters: int | None


class Metrics:
    """What has happened since the server started, and how large it is."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "devote_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._seconds = Histogram(
            "devote_request_seconds",
            "From the first byte of a request to the last of its answer, streams apart.",
            ("route",),
            buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0),
            registry=self._registry,
        )
        self._timed: dict[str, Histogram] = {}
        self._dropped = Counter(
            "devote_connections_dropped",
            "Connections ended because they idled, stalled, or had no room.",
            ("why",),
            registry=self._registry,
        )
        self._open = self._gauge("devote_connections", "Open connections.")
        self._messages = Counter(
            "devote_messages",
            "Messages posted, by what became of them.",
            ("experiment", "outcome"),
            registry=self._registry,
        )
        self._experiments = self._gauge("devote_experiments", "Experiments.")
        self._streams = self._gauge("devote_streams", "Open event streams.")
        self._enrolled = self._gauge("devote_enrolled", "Voters enrolled.", "experiment")
        self._posted = self._gauge("devote_board_messages", "Messages on the board.", "experiment")
        self._status = self._gauge(
            "devote_experiment_status", "1 for the status of each.", "experiment", "status"
        )
        self._responded = self._gauge(
            "devote_response_rate", "Of the voters enrolled, who have sent anything.", "experiment"
        )

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def count_request(self, method: str, route: str, status: int) -> None:
        """A request was answered; methods that do not exist share one label."""
        known = method if method in HTTPMethod.__members__ else "other"
        counter = self._counted.get((known, route, status))
        if counter is None:
            counter = self._requests.labels(known, route, str(status))
            self._counted[known, route, status] = counter
        counter.inc()

    def time_request(self, route: str, seconds: float) -> None:
        """How long a request took."""
        timed = self._timed.get(route)
        if timed is None:
            timed = self._timed[route] = self._seconds.labels(route)
        timed.observe(seconds)

    def count_dropped(self, why: str) -> None:
        """A connection was ended."""
        self._dropped.labels(why).inc()

    def count_message(self, experiment: str, outcome: str) -> None:
        """A message was posted."""
        self._messages.labels(experiment, outcome).inc()

    def render(self, seen: Iterable[Seen], *, streams: int, connections: int) -> bytes:
        """All metrics as text."""
        listed = list(seen)
        self._experiments.set(len(listed))
        self._streams.set(streams)
        self._open.set(connections)
        for gauge in (self._enrolled, self._posted, self._status, self._responded):
            gauge.clear()
        for item in listed:
            self._enrolled.labels(item.name).set(item.enrolled)
            self._posted.labels(item.name).set(item.messages)
            self._status.labels(item.name, item.status).set(1)
            if item.voters is not None and item.enrolled:
                self._responded.labels(item.name).set(item.voters / item.enrolled)
        return generate_latest(self._registry)
