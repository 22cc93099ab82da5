"""The objects of large payloads: whose they are, and which are left of deleted tasks."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart


class ObjectOwnerVerbs(VerbPart):
    """Implements ``ObjectOwnerStore``."""

    async def deleted_owners(self, limit: int) -> list[str]:
        return [row[0] for row in await self._transactions.read(ask.rows, "large_payloads.deleted", limit)]

    async def forget_owners(self, uids: Sequence[str]) -> None:
        await self._transactions.single(ask.change, "large_payloads.forget_deleted", list(uids))

    async def known_owners(self, uids: Sequence[str]) -> set[str]:
        return {row[0] for row in await self._transactions.read(ask.rows, "large_payloads.known", list(uids))}

    async def family(self, uid: str, limit: int) -> list[str]:
        bounds = (f"{uid}/", f"{uid}0", limit)
        return [row[0] for row in await self._transactions.read(ask.rows, "large_payloads.descendants", *bounds)]


async def note_deleted(connection: VerbConnection, uids: Sequence[str]) -> None:
    """Notes, in the commit of a deletion, that the objects of these tasks are to be deleted, where there are any."""
    await connection.change("large_payloads.note_deleted", list(uids))
