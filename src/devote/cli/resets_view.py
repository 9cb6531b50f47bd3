"""The part of a plan that is about resets, as a person likes to read it."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from devote.cli.terminal import number, probability


def resets_table(resets: dict[str, Any]) -> RenderableType:
    """What SER4 does over the horizon; the costs above it are those of one term."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("resets", style="bold")
    table.add_column("", justify="right")
    table.add_column(
        f"{resets['switches']} switches within {number(resets['horizon'])} samples; "
        "the costs above are those of one term",
        style="dim",
    )
    phi, best, printed = resets["phi"], resets["recommended_phi"], resets["printed_phi"]
    rows = [
        ("phi, used", f"{phi:.2g}", f"a reset every {1 / phi:,.0f} samples on average"),
        ("phi, recommended", f"{best:.2g}", "sqrt(S / (T C)), with C from these simulations"),
        ("phi, as printed", f"{printed:.2g}", "Theorem 4's; not recommended (erratum 17)"),
        ("resets", number(resets["resets"]), "on average"),
        ("votes", f"<= {number(resets['votes'])}", "on average, the first term's among them"),
        (
            "suboptimal plays",
            f"<= {number(resets['plays'])}",
            f"on average, if every term answers right: C (1 + phi T) + S / phi, "
            f"C = {number(resets['plays_per_term'])}",
        ),
        (
            "without resets",
            number(resets["plays_without"]),
            "if switches come evenly and the first best arm stays worse",
        ),
    ]
    if resets["failure_printed"] is not None:
        rows.append(
            (
                "some term fails",
                probability(resets["failure_over_terms"]),
                "if Theorem 2 holds in each, which is claimed; "
                f"{probability(resets['failure_printed'])} in print, with delta once for all terms",
            )
        )
    for row in rows:
        table.add_row(*row)
    notes = []
    if resets["plays"] >= resets["plays_without"]:
        notes.append("This bound promises no gain over ser3: switches come too soon for a term.")
    if resets["why_not_theorem_4"]:
        notes.append(f"Theorem 4 does not apply: {resets['why_not_theorem_4']}.")
    return Group(table, *(Text(note, style="yellow") for note in notes))
