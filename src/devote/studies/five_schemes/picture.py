"""The comparison as a picture, wide and narrow, for light and dark pages.

Written as SVG by hand: its text stays text, and its colours follow the reader's setting, which a
picture of matplotlib's cannot.
"""

import math
from collections.abc import Iterable
from html import escape

from devote.studies.drawing.style import BLUE, SKY
from devote.studies.five_schemes.measure import Comparison, Row

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
LOOK = f"""
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
            *_band(row, top, 52, width),
            _line(top, width),
            _text(10, top + 22, row.scheme, "name"),
            _text(10, top + 40, WORDS[row.scheme], "dim"),
            *_bar(columns[0], top + 20, 110, row.samples),
            *_bar(columns[1], top + 20, 110, row.messages),
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
            *_band(row, top, card, width),
            _line(top, width),
            _text(8, top + 22, row.scheme, "name"),
            _text(8, top + 40, WORDS[row.scheme], "dim"),
            _text(8, top + 64, "samples", "dim"),
            *_bar(126, top + 53, 150, row.samples),
            _text(8, top + 86, "messages", "dim"),
            *_bar(126, top + 75, 150, row.messages),
            _text(8, top + 108, "error, privacy", "dim"),
            *_error(126, top + 108, row)[:1],
            *_privacy(216, top + 108, row)[:1],
        ]
    bottom = 4 + card * len(compared.rows)
    notes = [
        _text(8, bottom + 18 + 15 * i, one, "small") for i, one in enumerate(_footnote(compared))
    ]
    return _svg(width, bottom + 54, compared, [*parts, _line(bottom, width), *notes])


def _bar(left: int, top: int, width: int, value: float) -> list[str]:
    """A bar on a scale of powers of ten, and its number."""
    if value < 1.0:
        return [_text(left, top + 11, "0", "")]
    length = width * math.log10(value) / DECADES
    return [
        f'<rect class="bar" x="{left}" y="{top}" width="{length:.1f}" height="13" rx="2"/>',
        _text(left + round(length) + 7, top + 11, f"{value:,.0f}", ""),
    ]


def _error(left: int, top: int, row: Row) -> list[str]:
    if row.proved_error is None:
        return [_text(left, top, "✗ none", "bad"), _text(left, top + 17, "claim refuted", "dim")]
    # Rounded up: a bound may not be understated.
    bound = math.ceil(1000 * row.proved_error - 1e-9) / 10
    return [_text(left, top, f"✓ ≤ {bound:g} %", "good")]


def _privacy(left: int, top: int, row: Row) -> list[str]:
    first, second = PRIVACY[row.scheme]
    mark, look = MARKS.get(first, ("○", "half"))
    return [_text(left, top, f"{mark} {first}", look), _text(left, top + 17, second, "dim")]


def _band(row: Row, top: int, height: int, width: int) -> list[str]:
    """The one with few samples, few messages and both proofs stands out."""
    if row.scheme != "survey":
        return []
    return [f'<rect class="band" x="0" y="{top}" width="{width}" height="{height}"/>']


def _footnote(compared: Comparison) -> tuple[str, ...]:
    wrong = sum(row.wrong for row in compared.rows) or "none"
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
    told = "; ".join(
        f"{row.scheme}: {row.samples:,.0f} samples, {row.messages:,.0f} messages"
        for row in compared.rows
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{escape(told)}</title>",
            f"<style>{LOOK}</style>",
            *parts,
            "</svg>\n",
        ]
    )
