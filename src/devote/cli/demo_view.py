"""How a demonstration looks in a terminal."""

from typing import Any, ClassVar, Self

from rich.status import Status

from devote.boards.board import Experiment
from devote.cli.terminal import console, number, table
from devote.demo.demonstration import Happening, Outcome
from devote.protocol import Message
from devote.protocol.messages import kind_of
from devote.schemes import Answer, Vote

EAVESDROPPED = 4
LINES = {"open": "watch it at [bold]{}[/bold]", "chaos": "[red]{}[/red]"}
"""How some kinds of happenings are told; others in their own words."""


class DemoView:
    """Tells a demonstration line by line, with the messages so far below while it runs."""

    starting: ClassVar[str] = "starting the server ..."

    def __init__(self, experiment: Experiment, *, quiet: bool) -> None:
        self._spec = experiment.spec
        self._players = experiment.players
        self._console = console(quiet)
        self._status = Status(self.starting, console=self._console)

    def __enter__(self) -> Self:
        self._print(
            f"{self._players} devices look for the best of {self._spec.n_arms} banners.\n"
            f"What users click stays on their device.\n{self._rule()}\n"
        )
        self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def tell(self, happening: Happening) -> None:
        """Show what has just happened."""
        if happening.kind == "messages":
            self._status.update(f"{happening.text} so far")
        else:
            words = LINES.get(happening.kind, "{}").format(happening.text)
            self._print(f"[dim]{happening.seconds:5.1f} s[/dim]  {words}")

    def conclude(self, outcome: Outcome) -> None:
        """The answer, what it cost, what an eavesdropper saw, and the truth beside it."""
        arms, view, answer = self._spec.arm_names, outcome.tally.view(), outcome.tally.answer
        winner = answer[0] if outcome.status == "agreed" else None
        if winner is not None:
            self._print(f"\n[bold green]The answer: {arms[winner]}[/bold green]")
        else:
            names = ", ".join(arms[k] for k in answer)
            self._print(f"\n[bold]Stalled: the devices could not agree between {names}[/bold]")
        estimates = view.get("estimates")
        columns = ("banner", view["heading"], *(["estimated"] if estimates else []))
        rates = table("lr", (*columns, "hidden click rate"), ())
        for k, (name, mean) in enumerate(zip(arms, outcome.means, strict=True)):
            truth = f"{mean:.2f}" + ("  <- the best" if mean == max(outcome.means) else "")
            style = "bold green" if k == winner else ""
            guess = [interval(estimates[k])] if estimates else []
            rates.add_row(name, f"{view['counts'][k]:,}", *guess, truth, style=style)
        self._console.print(rates)
        self._costs(outcome)
        self._eavesdropper(outcome.busiest)

    def _costs(self, outcome: Outcome) -> None:
        known = ", of which the server saw none"
        if Answer in self._spec.scheme.about.messages:
            known = f"; the server was sent one bit about {len(outcome.messages):,} of them"
        self._print(
            f"\n{outcome.seconds:.0f} s, {number(outcome.pulls)} banner views{known}.\n"
            f"{len(outcome.messages):,} messages of {outcome.bytes_sent:,} bytes in all "
            f"(with signatures {outcome.bytes_sent + 128 * len(outcome.messages):,})."
        )
        if outcome.server_kills or outcome.crowd_kills:
            self._print(
                f"The server was killed {outcome.server_kills} times, processes full of devices "
                f"{outcome.crowd_kills} times."
            )
        elif outcome.chaos:
            self._print("It was over before anything could be killed; use more players.")

    def _eavesdropper(self, seen: tuple[Message, ...]) -> None:
        self._print("\nAll that an eavesdropper saw of the most talkative device:")
        for message in seen[:EAVESDROPPED]:
            self._print(f"  [dim]{message.voter[:12]}...[/dim] says: {self._words(message)}")
        if (more := len(seen) - EAVESDROPPED) > 0:
            self._print(f"  ... and {more} more like it, and when each was sent")
        self._print("[dim]What that gives away, and what it does not: docs/guarantees.md[/dim]")

    def _rule(self) -> str:
        """What devices tell each other, and what follows from it."""
        needed = self._spec.votes_needed
        if Vote in self._spec.scheme.about.messages:
            return (
                "Devices only tell each other which banners are [bold]not[/bold] good enough.\n"
                f"{needed} such votes drop a banner."
            )
        words = self._spec.scheme.about.summary
        here = "" if needed is None else f" (here {needed})"
        return f"{words[:1].upper()}{words[1:]}{here}."

    def _words(self, message: Message) -> str:
        arm = getattr(message, "arm", None)
        name = "" if arm is None else repr(self._spec.arm_names[arm])
        if isinstance(message, Vote):
            return f"{name} is not good enough"
        if isinstance(message, Answer):
            return f"{name}: {message.bit}, which may be noise"
        return f"{kind_of(message).name} {name}".rstrip()

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class PeersView(DemoView):
    """The same without a server."""

    starting: ClassVar[str] = "starting the devices ..."

    def _costs(self, outcome: Outcome) -> None:
        self._print(
            f"\n{outcome.seconds:.0f} s, {number(outcome.pulls)} banner views, which stayed where "
            f"they were seen.\n{len(outcome.messages):,} votes of {outcome.bytes_sent:,} bytes in "
            "all; every device holds them all, and no server ever did."
        )


def interval(estimate: list[float] | None) -> str:
    """An estimate with the ends of its interval, or a dash."""
    if estimate is None:
        return "-"
    mean, low, high = estimate
    return f"{mean:.2f}  [{low:.2f}, {high:.2f}]"


def summary(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON values."""
    same = ("status", "pulls", "seconds", "server_starts", "crowd_starts")
    return {name: getattr(outcome, name) for name in same} | {
        "spec": outcome.experiment.spec.to_dict(),
        "n_players": outcome.experiment.players,
        "answer": list(outcome.tally.answer),
        "counts": outcome.tally.view()["counts"],
        "means": list(outcome.means),
        "messages": len(outcome.messages),
        "bytes": outcome.bytes_sent,
        "kills": outcome.server_kills + outcome.crowd_kills,
    }
