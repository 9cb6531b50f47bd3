"""Counters in the Prometheus text format: of requests and messages, never of voters."""

from collections import Counter
from collections.abc import Iterable, Mapping

from devote.boards.experiment import Experiment

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What has happened since the server started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, str]] = Counter()
        self.messages: Counter[tuple[str, str]] = Counter()

    def render(
        self, experiments: Iterable[Experiment], *, numbers: Mapping[str, int], streams: int
    ) -> str:
        """All metrics as text; ``numbers`` is how many messages each experiment's board holds."""
        listed = list(experiments)
        families = [
            _family("devote_experiments", "gauge", "Experiments.", [({}, len(listed))]),
            _family(
                "devote_seats",
                "gauge",
                "Seats taken.",
                [({"experiment": item.name}, item.seats) for item in listed],
            ),
            _family(
                "devote_board_messages",
                "gauge",
                "Messages on the board.",
                [({"experiment": name}, number) for name, number in sorted(numbers.items())],
            ),
            _family("devote_streams", "gauge", "Open event streams.", [({}, streams)]),
            _family(
                "devote_messages_total",
                "counter",
                "Messages posted, by what became of them.",
                [
                    ({"experiment": name, "outcome": outcome}, count)
                    for (name, outcome), count in sorted(self.messages.items())
                ],
            ),
            _family(
                "devote_requests_total",
                "counter",
                "Requests answered.",
                [
                    ({"method": method, "route": route, "status": status}, count)
                    for (method, route, status), count in sorted(self.requests.items())
                ],
            ),
        ]
        return "".join(families)


def _family(
    name: str, kind: str, text: str, samples: Iterable[tuple[Mapping[str, str], int]]
) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        # Names are identifiers and routes our own: nothing in a label needs escaping.
        inner = ",".join(f'{key}="{label}"' for key, label in labels.items())
        lines.append(f"{name}{{{inner}}} {value}" if inner else f"{name} {value}")
    return "\n".join(lines) + "\n"
