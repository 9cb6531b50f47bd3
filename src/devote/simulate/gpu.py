"""Trials on an NVIDIA GPU: not there in this version."""

from typing import Any

from devote.protocol import SpecError


def check_device() -> None:
    """Refuse."""
    raise SpecError("engine='cuda' cannot run here.\nUse engine passes.")


def run_on_device(scenario: Any, seed: int, trials: Any) -> Any:
    """Refuse."""
    check_device()
