"""No sentence of the paper is about the radius; many depend on it, and say so in their rows."""

from devote.experiments.claim import Claim
from devote.experiments.settings import Settings
from devote.experiments.table import Table


def claims(table: Table, settings: Settings) -> list[Claim]:
    """No rows."""
    return []
