"""How a demonstration looks in a terminal."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from devote.cli.terminal import console, number

if TYPE_CHECKING:
    from devote.boards.experiment import Experiment
    from devote.demo.demonstration import Happening, Outcome
    from devote.protocol import Message

EAVESDROPPED = 4


class DemoView:
    """Tells a demonstration line by line, with the messages so far below while it runs."""

    def __init__(self, experiment: "Experiment", *, quiet: bool) -> None:
        self._spec = experiment.spec
        self._players = experiment.players
        self._quiet = quiet
        self._console = console()

    def __enter__(self) -> Self:
        from rich.status import Status

        self._status = Status("starting the server ...", console=self._console)
        if not self._quiet:
            self._print(
                f"{self._players} devices look for the best of {self._spec.n_arms} banners. "
                f"What users click stays on their device;\n{self._rule()}\n"
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
        elif happening.kind == "messages":
            self._status.update(f"{happening.text} so far")
        elif happening.kind == "chaos":
            self._print(f"{when}[red]{happening.text}[/red]")
        else:
            self._print(f"{when}{happening.text}")

    def conclude(self, outcome: "Outcome") -> None:
        """The answer, what it cost, what an eavesdropper saw, and the truth beside it."""
        from rich.table import Table

        arms, view = self._spec.arm_names, outcome.tally.view()
        answer = outcome.tally.answer
        agreed = outcome.status == "agreed"
        self._print("")
        if agreed:
            self._print(f"[bold green]The answer: {arms[answer[0]]}[/bold green]")
        else:
            names = ", ".join(arms[k] for k in answer)
            self._print(f"[bold]Stalled: the devices could not agree between {names}[/bold]")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("banner", view["heading"], "hidden click rate"):
            table.add_column(column, justify="left" if column == "banner" else "right")
        best = max(outcome.means)
        for k, name in enumerate(arms):
            truth = f"{outcome.means[k]:.2f}" + (
                "  <- the best" if outcome.means[k] == best else ""
            )
            style = "bold green" if agreed and k == answer[0] else ""
            table.add_row(name, str(view["counts"][k]), truth, style=style)
        self._console.print(table)
        self._costs(outcome)
        self._eavesdropper(outcome)

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

    def _eavesdropper(self, outcome: "Outcome") -> None:
        seen = outcome.busiest
        self._print("\nAll that an eavesdropper saw of the most talkative device:")
        for message in seen[:EAVESDROPPED]:
            self._print(f"  [dim]{message.voter[:12]}...[/dim] says: {self._words(message)}")
        if len(seen) > EAVESDROPPED:
            self._print(
                f"  ... and {len(seen) - EAVESDROPPED} more like it, and when each was sent"
            )
        self._print("[dim]What that gives away, and what it does not: docs/guarantees.md[/dim]")

    def _rule(self) -> str:
        """What devices tell each other, and what follows from it."""
        from devote.schemes import Vote

        needed = self._spec.votes_needed
        if Vote in self._spec.scheme.kinds:
            return (
                "devices only tell each other which banners are [bold]not[/bold] good enough. "
                f"{needed} such votes drop a banner."
            )
        return f"{self._spec.scheme.summary} (here {needed})."

    def _words(self, message: "Message") -> str:
        from devote.protocol.messages import kind_of
        from devote.schemes import Vote

        arm = getattr(message, "arm", None)
        name = "" if arm is None else repr(self._spec.arm_names[arm])
        if isinstance(message, Vote):
            return f"{name} is not good enough"
        return f"{kind_of(message).name} {name}".rstrip()

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


def summary(outcome: "Outcome") -> dict[str, Any]:
    """The outcome as JSON values."""
    return {
        "spec": outcome.experiment.spec.to_dict(),
        "players": outcome.experiment.players,
        "status": outcome.status,
        "answer": list(outcome.tally.answer),
        "counts": outcome.tally.view()["counts"],
        "means": list(outcome.means),
        "messages": len(outcome.messages),
        "bytes": outcome.bytes_sent,
        "pulls": outcome.pulls,
        "seconds": outcome.seconds,
        "server_starts": outcome.server_starts,
        "crowd_starts": outcome.crowd_starts,
        "kills": outcome.server_kills + outcome.crowd_kills,
    }
