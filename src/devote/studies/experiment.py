"""What an experiment is: three answers to "what to run, how to draw it, what must it show"."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devote.studies.claim import Claim
from devote.studies.plan import Planned
from devote.studies.settings import Settings
from devote.studies.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Experiment:
    """One figure or study: a folder whose ``__init__`` names one of these ``EXPERIMENT``.

    ``plan`` says what to run and is the only part that may: ``draw`` and ``claims`` read results.
    A study without a picture leaves ``draw`` out, one without sentences returns no claims.
    """

    name: str
    title: str
    source: str
    plan: Callable[[Settings], list[Planned]]
    claims: Callable[[Table, Settings], list[Claim]]
    draw: "Callable[[Table, Settings], Figure] | None" = None
