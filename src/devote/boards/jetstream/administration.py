"""What the operator changes in a store on NATS, through whichever server.

How an experiment stands is in its entry in the catalogue, which every server follows; whom the
operator revoked is in the experiment's log. Another server may take a message in the moment before
it has read that an experiment is closed; none refuses one by what it happens to have read.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from devote.boards.administration import Revocation, changed
from devote.boards.invites import InviteCounts
from devote.boards.jetstream.fold import revocation_subject
from devote.boards.jetstream.invites import hashed
from devote.boards.standing import Change, Standing, unknown

if TYPE_CHECKING:
    from devote.boards.jetstream.store import JetStreamStore


class JetStreamAdministration:
    """The operator's side of a store on NATS; see ``boards.administration``."""

    def __init__(self, store: "JetStreamStore", clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self.clock = clock

    def standing(self, name: str) -> Standing:
        """How an experiment stands now; UnknownExperiment if it is not there."""
        standing = standing_of(self._store.connection.run(self.record(name)))
        return replace(standing, state=standing.now(self.clock()))

    def change(self, name: str, **change: Unpack[Change]) -> Standing:
        """Put an experiment into another state, or give it another end; the rest stays."""
        now = self.clock()

        def edit(record: dict[str, Any]) -> dict[str, Any]:
            new = changed(standing_of(record), now, change)
            return {**record, "state": new.state, "ends": new.ends}

        return standing_of(self._store.connection.run(self._edit(name, edit)))

    def archived(self) -> set[str]:
        """The experiments that are archived."""
        found = self._store.catalogue.all()
        return {name for name, record in found.items() if standing_of(record).state == "archived"}

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        self._store.log(name)
        return self._store.connection.run(self._revoke(name, voters, invites))

    async def _revoke(
        self, name: str, voters: Collection[str], invites: Collection[str]
    ) -> Revocation:
        log = await self._store.open(name)
        await log.catch_up()
        devices = known = 0
        for voter in voters:
            if log.fold.is_enrolled(voter):
                known += 1
                devices += not log.fold.is_revoked(voter)
                await log.append(revocation_subject(voter), b"")
        board = log.experiment.board
        taken = await self._store.invites.revoke(board, map(hashed, invites))
        vain = len(voters) - known + len(invites) - taken
        return Revocation(devices, taken, vain)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        board = self._store.log(name).experiment.board
        return Revocation(invites=self._store.connection.run(self._store.invites.purge(board)))

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked.

        An invite that has expired is gone from the nodes, so none is counted.
        """
        log = self._store.log(name)
        self._store.connection.run(log.catch_up())  # another server may have revoked somebody
        left = self._store.connection.run(self._store.invites.count(log.experiment.board))
        with log.lock:
            used = len(log.fold.enrolled) if log.experiment.enrolment == "invite" else 0
            return InviteCounts(left, used, 0), len(log.fold.revoked)

    async def record(self, name: str) -> dict[str, Any]:
        """The entry of an experiment, as of now; UnknownExperiment if there is none."""
        await self._store.catalogue.catch_up()
        record = await self._store.catalogue.get(name)
        if record is None:
            raise unknown(name, deleted=self._store.catalogue.is_deleted(name))
        return record

    async def _edit(
        self, name: str, edit: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        while True:
            edited = edit(await self.record(name))
            if await self._store.catalogue.replace(edited):
                return edited


def standing_of(record: dict[str, Any]) -> Standing:
    """How an entry of the catalogue says that its experiment stands."""
    return Standing(record.get("state", "open"), record.get("ends"))
