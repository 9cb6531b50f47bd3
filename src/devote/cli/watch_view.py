"""Three ways to see a run: a screen, lines of text, lines of JSON."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from devote.cli.terminal import panel, show_json, table
from devote.simulator.frames import Frame
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event

BAR_WIDTH = 28
COLOURS = {"agreed": "green", "stalled": "yellow", "unfinished": "cyan"}


@contextmanager
def choose_view(
    scenario: Scenario, console: Console, *, json: bool = False
) -> Iterator[Callable[[Frame], None]]:
    """What shows one frame after another: a screen that redraws itself only in a terminal."""
    if json:
        yield print_json
    elif not console.is_terminal:
        yield Lines(scenario).print
    else:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda frame: live.update(picture(scenario, frame), refresh=True)


def print_json(frame: Frame) -> None:
    """Print one JSON object per event, and one for the end."""
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


class Lines:
    """One line of text per event, and one for the end; messages about an arm are counted."""

    def __init__(self, scenario: Scenario) -> None:
        part = scenario.part
        self._sentences = {} if part is None else part.sentences
        self._needed = scenario.spec.votes_needed
        self._votes: Counter[tuple[int, int]] = Counter()

    def print(self, frame: Frame) -> None:
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
        self._votes[key] += 1
        return f"{words} ({self._votes[key]}/{self._needed})"


def picture(scenario: Scenario, frame: Frame) -> RenderableType:
    """The arms with what was said of them, and how far the players are."""
    spec, means = scenario.spec, scenario.problem.values(scenario.n_players, frame.samples)
    view = scenario.scheme.tally(spec).view()
    needed = view["needed"]
    said = f"{view['heading']}, of {needed}" if needed else ""
    arms = table("rrlr" if needed else "r", ("arm", "mean", said, "", "holders"), ())
    for arm in range(spec.n_arms):
        votes = frame.votes[arm]
        counted = (_bar(votes, needed), str(votes)) if needed else ("", "")
        if frame.shared[arm] and not frame.asked[arm]:
            counted = ("not asked about now", *counted[1:])
        cells = (str(arm), f"{means[arm]:.3g}", *counted, f"{frame.holders[arm]:,}")
        arms.add_row(*cells, style="" if frame.shared[arm] else "dim strike")
    done = _bar(frame.players_done, frame.n_learners)
    count = f"{frame.players_done:,} of {frame.n_learners:,}"
    rows = [("players down to one arm", done, count)]
    progress = table("l", ("", "", ""), rows, show_header=False)
    colour = COLOURS[frame.status] if frame.over else "cyan"
    words = ending(frame) if frame.over else f"running, {frame.n_shared} arms left"
    if frame.term:
        words += f", term {frame.term}"
    return panel(
        f"[bold]{scenario.label}[/bold]",
        [arms, Group(progress, Text(words, style=f"bold {colour}"))],
        subtitle=f"{frame.samples:,} samples, {frame.broadcasts:,} broadcasts",
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
