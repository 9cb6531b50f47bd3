"""The five schemes on one problem: what each takes, and what is proved of it.

``python -m scripts.five_schemes`` measures it and draws the picture of the README. With a
folder it reads and writes there; with ``--draw`` it draws again what was measured.

The picture is SVG written by hand, wide and narrow: its text stays text, and its colours follow the
reader's setting, light or dark, which a picture of matplotlib's cannot.
"""

import math
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from devote.files import write_whole
from devote.plan.promises import case_of, failure_bounds
from devote.problems import get_problem
from devote.protocol import ExperimentSpec, Scheme
from devote.schemes import Decentralized, Isolated, Jury, Pooled, Survey
from devote.simulator import Scenario, run_sweep
from devote.studies.style import BLUE, SKY
from devote.studies.sweeps import Sheet

SCHEMES: tuple[Scheme, ...] = (Pooled(), Isolated(), Decentralized(), Jury(), Survey())
"""Each with its defaults; first the two baselines, then by what is proved."""

PLAYERS = 10_000
TRIALS = 20
SEED = 1
ALGORITHM = "betting"


@dataclass(frozen=True)
class Comparison(Sheet):
    """The rows, and what they were measured on.

    A row is one scheme, means over the trials: ``samples``, plays of all devices until the group
    has its answer, ``messages``, ``proved_error`` (None where nothing is proved),
    ``proved_privacy``, and ``wrong``, the trials whose answer was wrong or missing. Where devices
    send nothing each has an answer of its own, and all of them must be right.
    """

    n_players: int
    trials: int
    seed: int
    algorithm: str
    problem: str
    epsilon: float
    delta: float
    rows: tuple[dict[str, Any], ...]


def compare_schemes(
    n_players: int = PLAYERS, trials: int = TRIALS, workers: int | None = None
) -> Comparison:
    """Run every scheme on problem 1."""
    problem, spec = get_problem("1"), ExperimentSpec(arms=10, algorithm=ALGORITHM)
    rows = []
    for scheme in SCHEMES:
        scenario = Scenario(spec.with_(scheme=scheme), problem, n_players)
        [result] = run_sweep([scenario], trials=trials, seed=SEED, workers=workers)
        ended = result.ended("agreed") if scheme.about.by_message else ~result.ended("unfinished")
        promises = {one.name: one.standing for one in scheme.guarantees(case_of(scenario)).promises}
        rows.append(
            {
                "scheme": scheme.name,
                "samples": float(result.samples[ended].mean()),
                "messages": float(result.broadcasts.mean()),
                "proved_error": failure_bounds(scenario).proved,
                "proved_privacy": promises["privacy"] == "proved",
                "wrong": int((~(ended & result.epsilon_optimal)).sum()),
            }
        )
    asked: dict[str, Any] = {"epsilon": spec.epsilon, "delta": spec.delta, "rows": tuple(rows)}
    return Comparison(n_players, trials, SEED, ALGORITHM, problem.name, **asked)


WORDS = {
    "pooled": "every click is shared, as in an A/B test",
    "isolated": "nobody says anything",
    "decentralized": "the paper: devices vote options out",
    "jury": "29 devices learn alone, each names one",
    "survey": "each device plays once, sends a noisy bit",
}
PRIVACY = {
    "pooled": ("none", "clicks are sent"),
    "isolated": ("proved", "nothing is sent"),
    "decentralized": ("none", "votes tell the best"),
    "jury": ("if asked for", "not by default"),
    "survey": ("proved", "by the noise, e = 1"),
}
"""The second lines say of what kind it is; a test holds the first to the schemes' promises."""

MARKS = {"none": ("✗", "bad"), "proved": ("✓", "good")}
STYLE = f"""
text {{ font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  fill: #1f2328 }}
.name {{ font-weight: 600; font-size: 15px }}
.half {{ font-weight: 600 }}
.dim {{ fill: #59636e; font-size: 12px }}
.small {{ fill: #59636e; font-size: 11px }}
.good {{ fill: #1a7f37; font-weight: 600 }}
.bad {{ fill: #b35900; font-weight: 600 }}
.line {{ stroke: #d1d9e0; stroke-width: 1 }}
.bar {{ fill: {BLUE} }}
.band {{ fill: {BLUE}; fill-opacity: .08 }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #e6edf3 }}
  .dim, .small {{ fill: #9198a1 }}
  .good {{ fill: #3fb950 }}
  .bad {{ fill: #f0883e }}
  .line {{ stroke: #3d444d }}
  .bar {{ fill: {SKY} }}
  .band {{ fill: {SKY}; fill-opacity: .12 }}
}}
"""
DECADES = 8
"""The bars end at 10^8: each further step of the scale is ten times as much."""


def draw_wide(compared: Comparison) -> str:
    """One row per scheme, one column per question."""
    width, columns = 880, (300, 500, 640, 748)
    heads = ("samples until the answer", "messages", "proved error", "proved privacy")
    parts = [_text(x, 22, head, "dim") for x, head in zip(columns, heads, strict=True)]
    for place, row in enumerate(compared.rows):
        top = 36 + 52 * place
        parts += [
            *_head(row, top, 52, width, 10),
            *_bar(columns[0], top + 20, 110, row["samples"]),
            *_bar(columns[1], top + 20, 110, row["messages"]),
            *_error(columns[2], top + 22, row),
            *_privacy(columns[3], top + 22, row),
        ]
    bottom = 36 + 52 * len(compared.rows)
    parts += [_line(bottom, width), _text(10, bottom + 22, " ".join(_footnote(compared)), "small")]
    return _svg(width, bottom + 32, compared, parts)


def draw_narrow(compared: Comparison) -> str:
    """One card per scheme, for a phone."""
    width, card = 380, 122
    parts: list[str] = []
    for place, row in enumerate(compared.rows):
        top = 4 + card * place
        parts += [
            *_head(row, top, card, width, 8),
            _text(8, top + 64, "samples", "dim"),
            *_bar(126, top + 53, 150, row["samples"]),
            _text(8, top + 86, "messages", "dim"),
            *_bar(126, top + 75, 150, row["messages"]),
            _text(8, top + 108, "error, privacy", "dim"),
            *_error(126, top + 108, row)[:1],
            *_privacy(216, top + 108, row)[:1],
        ]
    bottom = 4 + card * len(compared.rows)
    notes = [
        _text(8, bottom + 18 + 15 * i, one, "small") for i, one in enumerate(_footnote(compared))
    ]
    return _svg(width, bottom + 54, compared, [*parts, _line(bottom, width), *notes])


def _head(row: dict[str, Any], top: int, height: int, width: int, left: int) -> list[str]:
    """A scheme's name; the one with few samples, few messages and both proofs stands out."""
    band = f'<rect class="band" x="0" y="{top}" width="{width}" height="{height}"/>'
    return [
        *([band] if row["scheme"] == "survey" else []),
        _line(top, width),
        _text(left, top + 22, row["scheme"], "name"),
        _text(left, top + 40, WORDS[row["scheme"]], "dim"),
    ]


def _bar(left: int, top: int, width: int, value: float) -> list[str]:
    """A bar on a scale of powers of ten, and its number."""
    if value < 1.0:
        return [_text(left, top + 11, "0", "")]
    length = width * math.log10(value) / DECADES
    return [
        f'<rect class="bar" x="{left}" y="{top}" width="{length:.1f}" height="13" rx="2"/>',
        _text(left + round(length) + 7, top + 11, f"{value:,.0f}", ""),
    ]


def _error(left: int, top: int, row: dict[str, Any]) -> list[str]:
    if row["proved_error"] is None:
        return [_text(left, top, "✗ none", "bad"), _text(left, top + 17, "claim refuted", "dim")]
    # Rounded up: a bound may not be understated.
    bound = math.ceil(1000 * row["proved_error"] - 1e-9) / 10
    return [_text(left, top, f"✓ ≤ {bound:g} %", "good")]


def _privacy(left: int, top: int, row: dict[str, Any]) -> list[str]:
    first, second = PRIVACY[row["scheme"]]
    mark, look = MARKS.get(first, ("○", "half"))
    return [_text(left, top, f"{mark} {first}", look), _text(left, top + 17, second, "dim")]


def _footnote(compared: Comparison) -> tuple[str, ...]:
    wrong = sum(row["wrong"] for row in compared.rows) or "none"
    return (
        f"Measured: {compared.n_players:,} devices, ten options, "
        f"{compared.trials} runs, {wrong} wrong.",
        f"Error asked for: {100 * compared.delta:g} %.",
        "Bars are logarithmic.",
    )


def _line(y: int, width: int) -> str:
    return f'<line class="line" x1="0" y1="{y}" x2="{width}" y2="{y}"/>'


def _text(x: float, y: float, words: str, look: str) -> str:
    styled = f' class="{look}"' if look else ""
    return f'<text x="{x}" y="{y}"{styled}>{escape(words)}</text>'


def _svg(width: int, height: int, compared: Comparison, parts: Iterable[str]) -> str:
    title = "; ".join(
        f"{row['scheme']}: {row['samples']:,.0f} samples, {row['messages']:,.0f} messages"
        for row in compared.rows
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">'
    )
    lines = [head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", *parts]
    return "\n".join([*lines, "</svg>\n"])


def main(folder: Path, measure: bool = True) -> None:
    """Write ``five-schemes.json`` and its two pictures."""
    data = folder / "five-schemes.json"
    if measure:
        compare_schemes().save(data)
    compared = Comparison.load(data)
    write_whole(folder / "five-schemes.svg", draw_wide(compared).encode())
    write_whole(folder / "five-schemes-narrow.svg", draw_narrow(compared).encode())


if __name__ == "__main__":
    parser = ArgumentParser(description="The picture of the five schemes, measured and drawn.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/figures"))
    parser.add_argument("--draw", action="store_true", help="only draw what was measured before")
    asked = parser.parse_args()
    main(asked.folder, measure=not asked.draw)
