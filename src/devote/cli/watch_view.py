"""Three ways to see a run: a screen, lines of text, lines of JSON."""

from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from devote.cli.terminal import show_json
from devote.simulate.frames import Frame
from devote.simulate.scenario import Scenario
from devote.simulate.trial import Event

BAR_WIDTH = 28
COLOURS = {"agreed": "green", "stalled": "yellow", "unfinished": "cyan"}


class View:
    """Something that shows one frame after another."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def show(self, frame: Frame) -> None:
        """Show how the run stands."""
        raise NotImplementedError


class JsonLines(View):
    """One JSON object per event, and one for the end."""

    def show(self, frame: Frame) -> None:
        """Print the events, and the ending if this is it."""
        for event in frame.events:
            show_json(event._asdict())
        if frame.over:
            show_json(
                {
                    "time": frame.samples,
                    "kind": "end",
                    "status": frame.status,
                    "winners": list(frame.winners),
                    "broadcasts": frame.broadcasts,
                }
            )


class Lines(View):
    """One line of text per event, and one for the end."""

    def __init__(self, scenario: Scenario) -> None:
        self._sentences = scenario.scheme.sentences
        self._needed = scenario.spec.votes_needed
        self._votes: dict[tuple[int, int], int] = {}

    def show(self, frame: Frame) -> None:
        """Print the events, and the ending if this is it."""
        for event in frame.events:
            print(f"{event.time:>10,}  {self._words(event)}")
        if frame.over:
            print(f"{frame.samples:>10,}  {ending(frame)}")

    def _words(self, event: Event) -> str:
        sentence = self._sentences.get(event.kind, "player {player}: {kind}")
        words = sentence.format(**event._asdict())
        if event.arm < 0 or event.kind == "elimination":
            return words
        key = (event.term, event.arm)
        self._votes[key] = self._votes.get(key, 0) + 1
        return f"{words} ({self._votes[key]}/{self._needed})"


class Screen(View):
    """A table that redraws itself."""

    def __init__(self, scenario: Scenario, console: Console) -> None:
        self._scenario = scenario
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def show(self, frame: Frame) -> None:
        """Redraw."""
        self._live.update(picture(self._scenario, frame), refresh=True)


def picture(scenario: Scenario, frame: Frame) -> RenderableType:
    """The arms with what was said of them, and how far the players are."""
    spec, means = scenario.spec, scenario.problem.values(scenario.n_players, frame.samples)
    view = scenario.scheme.tally(spec).view()
    needed = view["needed"]
    table = Table(box=None, pad_edge=False, header_style="dim")
    said = f"{view['heading']}, of {needed}" if needed else ""
    for head in ("arm", "mean", said, "", "holders"):
        table.add_column(head, justify="left" if head and head == said else "right")
    for arm in range(spec.n_arms):
        votes = frame.votes[arm]
        bar = _bar(votes, needed) if needed else Text()
        count = str(votes) if needed else ""
        style = "" if frame.shared[arm] else "dim strike"
        cells = (str(arm), f"{means[arm]:.3g}", bar, count, f"{frame.holders[arm]:,}")
        table.add_row(*cells, style=style)
    done = _bar(frame.players_done, frame.n_learners)
    progress = Table(box=None, pad_edge=False, show_header=False)
    progress.add_row(
        "players down to one arm", done, f"{frame.players_done:,} of {frame.n_learners:,}"
    )
    colour = COLOURS[frame.status] if frame.over else "cyan"
    words = ending(frame) if frame.over else f"running, {frame.n_shared} arms left"
    if frame.term:
        words += f", term {frame.term}"
    return Panel(
        Group(table, Text(), progress, Text(words, style=f"bold {colour}")),
        title=f"[bold]{scenario.label}[/bold]",
        subtitle=f"{frame.samples:,} samples, {frame.broadcasts:,} broadcasts",
        title_align="left",
        subtitle_align="right",
        padding=(1, 2),
        width=76,
    )


def _bar(done: int, total: int) -> Text:
    filled = BAR_WIDTH * min(done, total) // total
    return Text("█" * filled, style="cyan") + Text("░" * (BAR_WIDTH - filled), style="dim")


def ending(frame: Frame) -> str:
    """How the run ended, in words."""
    arms = ", ".join(map(str, frame.winners))
    if frame.status == "agreed":
        return f"agreed: every player holds arm {arms}"
    if frame.status == "stalled":
        return f"stalled: players are split over arms {arms}, and no message can settle it any more"
    return f"unfinished at the horizon: arms {arms} are left"
