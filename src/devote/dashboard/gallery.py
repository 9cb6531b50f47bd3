"""The views of all experiments on a server, brought up to date when somebody looks.

However many look, and however fast votes come, a view is made at most every ``every`` seconds:
whoever comes sooner waits for that moment and gets the same one.
"""

import asyncio
import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from devote.boards.experiment import Experiment
from devote.boards.store import SqliteStore
from devote.dashboard.view import View

EVERY = 0.2


@dataclass
class _Made:
    body: bytes = b""
    at: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Gallery:
    """Views over a store; read only."""

    def __init__(self, store: SqliteStore, every: float = EVERY) -> None:
        self._store = store
        self._every = every
        self._views: dict[str, View] = {}
        self._taking = threading.Lock()
        self._made: defaultdict[str, _Made] = defaultdict(_Made)

    async def one(self, name: str) -> bytes:
        """One experiment's view, as JSON; UnknownExperiment if it is not there."""
        await asyncio.to_thread(self._store.spec, name)  # a name that is not there leaves no trace
        return await self._fresh(name)

    async def all(self) -> bytes:
        """The summaries of all experiments, as JSON."""
        return await self._fresh("")

    async def _fresh(self, name: str) -> bytes:
        asked = asyncio.get_running_loop().time()
        made = self._made[name]
        async with made.lock:
            if made.at < asked:
                await asyncio.sleep(made.at + self._every - asked)
                made.at = asyncio.get_running_loop().time()
                made.body = await asyncio.to_thread(self._make_alone, name)
            return made.body

    def _make_alone(self, name: str) -> bytes:
        with self._taking:  # a view is shared by its page and the list
            return self._make(name)

    def _make(self, name: str) -> bytes:
        content: Any
        if name:
            experiment = self._store.get(name)
            content = self._view(experiment).render(experiment)
        else:
            numbers = self._store.numbers()
            content = [
                self._view(experiment, numbers.get(experiment.name, 0)).summary(experiment)
                for experiment in self._store.experiments()
            ]
        return json.dumps(content, separators=(",", ":")).encode()

    def _view(self, experiment: Experiment, number: int | None = None) -> View:
        """An experiment's view with all that is on its board, read unless ``number`` is known."""
        name = experiment.name
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = View(experiment.spec)
        if view.number == number:
            return view
        last, rows = self._store.rows(name, view.number)
        if last < view.number:  # an older file was put in place: begin again
            view = self._views[name] = View(experiment.spec)
            _, rows = self._store.rows(name)
        view.take(rows)
        return view
