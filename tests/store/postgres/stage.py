"""A stage for verbs that meet: two gated stores, one beside them, and the store without one of its guards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import MappingProxyType

import pytest

from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine import connection, query_catalogue
from stepward.store.postgres.hot import turn
from stepward.store.rules.audit.audit_chain import FIRST_HASH, linked
from tests.store.conformance.world import World
from tests.store.postgres.gates import Gate, Meeting
from tests.store.postgres.worlds import Database, SchemaPlace

LEASE = 1_000_000.0


class Stage:
    """Two gated stores, and one beside them for setting scenes and looking."""

    def __init__(
        self, world: World, stores: list[PostgresStore], meeting: Meeting, term: int, database: Database
    ) -> None:
        self.world = world
        self.left, self.right, self.beside = stores
        self.meeting = meeting
        self.term = term
        self._made = 0
        self._database = database

    def name(self, kind: str) -> str:
        """A name that no other scene has."""
        self._made += 1
        return f"{kind}-{self._made}"

    async def breaks_in_chain(self) -> list[int]:
        """The numbers of acts whose hash does not follow from the one before and themselves."""
        previous, found = FIRST_HASH, []
        for number, *values, link in await self._database.rows("select * from stepward_shop.audit order by number"):
            if linked(previous, tuple(values)) != link:
                found.append(number)
            previous = link
        return found


@asynccontextmanager
async def staged(database: Database) -> AsyncIterator[Stage]:
    """A stage in that database."""
    world = World(SchemaPlace(database.address))
    stores, gates = list[PostgresStore](), list[Gate]()
    for number in range(3):
        store = world.place.make(world.environment)
        assert isinstance(store, PostgresStore)
        if number < 2:
            gates.append(Gate(store))
        await store.open()
        stores.append(store)
    term = await stores[2].supervisor.lead("supervisor", LEASE)
    assert term is not None
    try:
        yield Stage(world, stores, Meeting(gates[0], gates[1], await database.connect()), term, database)
    finally:
        for store in stores:
            await store.close()


@contextmanager
def without(query: str, guard: str, instead: str = "") -> Iterator[None]:
    """Stores that are opened within lack that part of a query."""
    kept = query_catalogue.load_catalogue

    def unguarded(schema: str) -> query_catalogue.Queries:
        texts = dict(kept(schema))
        assert guard in texts[query]
        texts[query] = texts[query].replace(guard, instead)
        return MappingProxyType(texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "load_catalogue", unguarded)
        patch.setattr(turn, "load_catalogue", unguarded)
        turn._composed.cache_clear()
        yield
    turn._composed.cache_clear()
