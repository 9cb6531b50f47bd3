"""Counters for Prometheus: of requests and messages, never of voters."""

from collections.abc import Iterable, Mapping
from http import HTTPMethod

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)

from devote.boards.experiment import Experiment

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# They would tell when the first message of an experiment came.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """What has happened since the server started, and how large it is."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "devote_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
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

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def count_request(self, method: str, route: str, status: int) -> None:
        """A request was answered; methods that do not exist share one label."""
        known = method if method in HTTPMethod.__members__ else "other"
        self._requests.labels(known, route, str(status)).inc()

    def count_message(self, experiment: str, outcome: str) -> None:
        """A message was posted."""
        self._messages.labels(experiment, outcome).inc()

    def render(
        self, experiments: Iterable[Experiment], *, numbers: Mapping[str, int], streams: int
    ) -> bytes:
        """All metrics as text; ``numbers`` is how many messages each experiment's board holds."""
        listed = list(experiments)
        self._experiments.set(len(listed))
        self._streams.set(streams)
        for gauge in (self._enrolled, self._posted):
            gauge.clear()
        for item in listed:
            self._enrolled.labels(item.name).set(item.enrolled)
            self._posted.labels(item.name).set(numbers.get(item.name, 0))
        return generate_latest(self._registry)
