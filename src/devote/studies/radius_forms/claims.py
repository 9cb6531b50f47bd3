"""No sentence of the paper is about the radius; many depend on it, and say so in their rows."""

from devote.studies.claim import Claim
from devote.studies.settings import Settings
from devote.studies.table import Table


def claims(table: Table, settings: Settings) -> list[Claim]:
    """No rows."""
    return []
