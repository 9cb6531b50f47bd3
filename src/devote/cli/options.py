"""The options that several subcommands share, so that they read the same everywhere."""

from typing import Annotated, TypeAlias

import typer

Means: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Mean reward of each arm, such as .7,.5,.3; with --problem it replaces the "
        "problem's arms and keeps who wakes.",
    ),
]
ProblemName: TypeAlias = Annotated[
    str | None, typer.Option("--problem", metavar="NAME", help="One of `devote problems`.")
]
Activity: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="WHO", help="Who wakes: uniform, split, zipf:1.1 or weights:1,2,3."),
]
Algorithm: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The subroutine, one of `devote algorithms`.")
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the subroutine; may be repeated."
    ),
]
Protocol: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="decentralized, isolated, pooled or jury.")
]
Players: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Number of devices.")]
Epsilon: TypeAlias = Annotated[
    float, typer.Option(metavar="E", help="How far from the best an arm may be and still do.")
]
Eta: TypeAlias = Annotated[
    float,
    typer.Option(metavar="P", help="Error allowed to one device alone; its cost: docs/fleet.md."),
]
Delta: TypeAlias = Annotated[float, typer.Option(metavar="P", help="Error allowed to the vote.")]
Quorum: TypeAlias = Annotated[
    str, typer.Option(metavar="RULE", help="paper, ceil or a number of votes.")
]
Phi: TypeAlias = Annotated[
    float, typer.Option(metavar="P", help="ser4: probability of a reset after each pull.")
]
Horizon: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="T", help="Stop after this many pulls; unfinished runs say so."),
]
SeatAfter: TypeAlias = Annotated[
    int, typer.Option(metavar="A", help="jury: activations before a device may claim a seat.")
]
Absent: TypeAlias = Annotated[int, typer.Option(metavar="V", help="jury: jurors who may vanish.")]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="S", help="The same seed gives the same numbers.")
]
IdleSeed: TypeAlias = Annotated[
    int,
    typer.Option("--seed", metavar="S", help="Accepted everywhere; nothing is drawn here."),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout instead of a table.")
]
Workers: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="W", help="Processes to run trials in; 0: one per core.")
]
