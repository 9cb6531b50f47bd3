"""How a demonstration looks in a terminal: bars of votes that fill up as it goes."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from devote.cli.terminal import console, number

if TYPE_CHECKING:
    from devote.fleet.demonstration import Happening, Outcome
    from devote.protocol import ExperimentSpec

EAVESDROPPED = 4


class DemoView:
    """Tells a demonstration line by line, with the votes so far below while it runs."""

    def __init__(self, spec: "ExperimentSpec", players: int, *, quiet: bool) -> None:
        self._spec = spec
        self._players = players
        self._quiet = quiet
        self._console = console()

    def __enter__(self) -> Self:
        from rich.status import Status

        self._status = Status("starting the server ...", console=self._console)
        if not self._quiet:
            self._print(
                f"{self._players} devices look for the best of {self._spec.n_arms} banners. "
                "What users click stays on their device;\n"
                f"devices only tell each other which banners are [bold]not[/bold] good enough. "
                f"{self._votes_needed()} such votes drop a banner.\n"
            )
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.stop()

    def tell(self, happening: "Happening") -> None:
        """Show what has just happened."""
        if self._quiet:
            return
        when = f"[dim]{happening.seconds:5.1f} s[/dim]  "
        if happening.kind == "open":
            self._print(f"{when}watch it at [bold]{happening.text}[/bold]")
        elif happening.kind == "votes":
            self._status.update(f"{happening.text} so far")
        elif happening.kind == "chaos":
            self._print(f"{when}[red]{happening.text}[/red]")
        else:
            self._print(f"{when}{happening.text}")

    def conclude(self, outcome: "Outcome") -> None:
        """The answer, what it cost, what an eavesdropper saw, and the truth beside it."""
        from rich.table import Table

        arms = _arms(self._spec)
        answer = outcome.ballot.answer
        agreed = len(answer) == 1
        self._print("")
        if agreed:
            self._print(f"[bold green]The answer: {arms[answer[0]]}[/bold green]")
        else:
            names = ", ".join(arms[k] for k in answer)
            self._print(f"[bold]Stalled: the devices could not agree between {names}[/bold]")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("banner", "votes against", "hidden click rate"):
            table.add_column(column, justify="left" if column == "banner" else "right")
        best = max(outcome.means)
        for k, name in enumerate(arms):
            truth = f"{outcome.means[k]:.2f}" + (
                "  <- the best" if outcome.means[k] == best else ""
            )
            style = "bold green" if agreed and k == answer[0] else ""
            table.add_row(name, str(outcome.ballot.tally[k]), truth, style=style)
        self._console.print(table)
        self._costs(outcome)
        self._eavesdropper(outcome, arms)

    def _costs(self, outcome: "Outcome") -> None:
        self._print(
            f"\n{outcome.seconds:.0f} s, {number(outcome.pulls)} banner views, of which the server "
            f"saw none.\n{len(outcome.messages)} messages of {outcome.bytes_sent:,} bytes in all "
            f"(with signatures {outcome.bytes_sent + 64 * len(outcome.messages):,})."
        )
        if outcome.server_kills or outcome.crowd_kills:
            self._print(
                f"The server was killed {outcome.server_kills} times, processes full of devices "
                f"{outcome.crowd_kills} times."
            )
        elif outcome.chaos:
            self._print("It was over before anything could be killed; use more players.")

    def _eavesdropper(self, outcome: "Outcome", arms: Sequence[str]) -> None:
        from devote.protocol import Vote

        seen = outcome.busiest
        self._print("\nAll that an eavesdropper saw of the most talkative device:")
        for message in seen[:EAVESDROPPED]:
            what = (
                f"{arms[message.arm]!r} is not good enough"
                if isinstance(message, Vote)
                else type(message).__name__.lower()
            )
            self._print(f"  [dim]{message.voter[:12]}...[/dim] says: {what}")
        if len(seen) > EAVESDROPPED:
            self._print(
                f"  ... and {len(seen) - EAVESDROPPED} more like it, and when each was sent"
            )
        self._print("[dim]What that gives away, and what it does not: docs/guarantees.md[/dim]")

    def _votes_needed(self) -> int:
        from devote.protocol import get_protocol

        return get_protocol(self._spec.protocol).votes_needed(self._spec)

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def summary(outcome: "Outcome") -> dict[str, Any]:
    """The outcome as JSON values."""
    ballot = outcome.ballot
    return {
        "spec": outcome.experiment.spec.to_dict(),
        "players": outcome.experiment.players,
        "status": ballot.status(outcome.experiment.players),
        "answer": list(ballot.answer),
        "votes": list(ballot.tally),
        "means": list(outcome.means),
        "messages": len(outcome.messages),
        "bytes": outcome.bytes_sent,
        "pulls": outcome.pulls,
        "seconds": outcome.seconds,
        "server_starts": outcome.server_starts,
        "crowd_starts": outcome.crowd_starts,
        "kills": outcome.server_kills + outcome.crowd_kills,
    }


def _arms(spec: "ExperimentSpec") -> list[str]:
    return [str(name) for name in spec.arms]  # type: ignore[union-attr]
