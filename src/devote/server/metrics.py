"""Counters for Prometheus: of requests and messages, never of voters."""

from collections.abc import Callable, Iterable
from http import HTTPMethod
from typing import Any, TypeVar

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


T = TypeVar("T")

BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
SECONDS = "From the first byte of a request to the last of its answer, streams apart."
DROPPED = "Connections ended because they idled, stalled, or had no room."
MISMATCH = "1 if answers are missing for a reason, so that nothing is proved."
RESPONDED = "Of the voters enrolled, who have sent anything."


class Metrics:
    """What has happened since the server started, and how large it is."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        add = self._add
        self._requests = add(Counter, "requests", "Requests answered.", "method", "route", "status")
        self.seconds = add(Histogram, "request_seconds", SECONDS, "route", buckets=BUCKETS)
        self.dropped = add(Counter, "connections_dropped", DROPPED, "why")
        self.messages = add(Counter, "messages", "Messages posted.", "experiment", "outcome")
        self._open = add(Gauge, "connections", "Open connections.")
        self._streams = add(Gauge, "streams", "Open event streams.")
        self._experiments = add(Gauge, "experiments", "Experiments.")
        self._enrolled = add(Gauge, "enrolled", "Voters enrolled.", "experiment")
        self._posted = add(Gauge, "board_messages", "Messages on the board.", "experiment")
        self._responded = add(Gauge, "response_rate", RESPONDED, "experiment")
        self._mismatch = add(Gauge, "mismatch", MISMATCH, "experiment")
        self._withdrawn = add(Gauge, "withdrawn_options", "Options withdrawn.", "experiment")
        self._status = add(Gauge, "experiment_status", "1 for its status.", "experiment", "status")

    def _add(self, kind: Callable[..., T], name: str, text: str, *labels: str, **more: Any) -> T:
        return kind(f"devote_{name}", text, labels, registry=self._registry, **more)

    def count_request(self, method: str, route: str, status: int) -> None:
        """A request was answered; methods that do not exist share one label."""
        known = method if method in HTTPMethod.__members__ else "other"
        self._requests.labels(known, route, str(status)).inc()

    def render(
        self, experiments: Iterable[dict[str, Any]], *, streams: int, connections: int
    ) -> bytes:
        """All metrics as text; experiments as in the operator's overview."""
        listed = list(experiments)
        self._experiments.set(len(listed))
        self._streams.set(streams)
        self._open.set(connections)
        gauges = (self._enrolled, self._posted, self._status, self._responded)
        for gauge in (*gauges, self._mismatch, self._withdrawn):
            gauge.clear()
        for each in listed:
            name, is_open = each["name"], each["state"] == "open"
            self._enrolled.labels(name).set(each["enrolled"])
            self._posted.labels(name).set(each["messages"])
            self._mismatch.labels(name).set(each["mismatch"])
            self._withdrawn.labels(name).set(len(each["withdrawn"]))
            self._status.labels(name, each["status"] if is_open else each["state"]).set(1)
            if each["senders"] is not None and each["enrolled"]:
                self._responded.labels(name).set(each["senders"] / each["enrolled"])
        return generate_latest(self._registry)
