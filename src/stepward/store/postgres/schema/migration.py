"""Migration of an older store's tables, during which programs of the previous version continue to work.

Each part of a migration is a transaction of its own. It gives up soon if another session holds a lock that it needs,
and is tried again later; indexes are created concurrently. One process at a time migrates.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg

from stepward.errors import StoreUnavailable
from stepward.store.postgres.engine.connecting.connector import REPLANNED
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.schema import privilege_check, versions
from stepward.store.postgres.schema.versions import MigrationPart

MIGRATION_SECONDS = 3600.0
"""For one statement of a migration."""
TRY_SECONDS = 60.0
"""For the locks of one part, and for the turn to migrate."""
LOCK_SECONDS = (0.1, 1.2)
"""The first and the longest wait for a lock: meanwhile all who come later for the same table wait too. After a second
the server ends an autovacuum that is in the way."""
LATE_SECONDS = 0.3
"""How much later than the server breaks off its wait for a lock this process does."""
REST = 4
"""How much longer than that the others have the table for themselves before the next try."""
LOOK_SECONDS = 0.05


async def migrate(database: Database, app: str) -> None:
    """Apply what is missing; any number of processes may ask for it at once. Raises in Stepward's words."""
    try:
        await _wait_for_turn(database, app)
    except BROKEN as error:
        raise translated(error, database.place.shown) from error


async def _wait_for_turn(database: Database, app: str) -> None:
    """Look again and again, each time in a transaction of its own: one that waits would keep an index from being made,
    which waits for every transaction that it saw at work."""
    for _ in range(int(TRY_SECONDS / LOOK_SECONDS)):
        # An open transaction is what keeps others out: it works through a pooler too, and ends with this process.
        async with database.shared.transaction() as turn:
            ((is_ours,),) = await turn.rows("schema.lock", turn.schema)
            if is_ours:
                await _migrate(turn, database, app)
                return
        await asyncio.sleep(LOOK_SECONDS)
    raise StoreUnavailable(
        f"store {database.place.shown}: expected to migrate it within {TRY_SECONDS:g} s, found another process at it "
        "all the while; wait until it is done, and start again"
    )


async def _migrate(turn: Connection, database: Database, app: str) -> None:
    stands = await versions.stands_at(turn, app, database.place.shown)
    if stands == versions.NOTHING:
        await _create(turn, app)
        return
    await privilege_check.check_owner(turn, stands.version, versions.newest(), database.place.shown)
    await _rest(turn)
    for part in versions.parts_after(stands):
        await _apply_part(database, part)


async def _rest(connection: Connection) -> None:
    """Keep the transaction open without a snapshot: that of an answered query lasts until the next message."""
    await connection.run("set local idle_in_transaction_session_timeout = 0")


async def _create(connection: Connection, app: str) -> None:
    """Creates the tables of a new store, in the open transaction: no other process uses them yet."""
    await connection.run("set local statement_timeout = 0")
    if await connection.row("schema.find_schema", connection.schema) is None:
        await connection.run(versions.create_schema(connection.schema))
    await connection.run(versions.new(connection.schema), MIGRATION_SECONDS)
    await connection.change("schema.write_meta", "app", app)
    await connection.change("schema.write_meta", "schema_version", str(versions.newest()))


async def _apply_part(database: Database, part: MigrationPart) -> None:
    if part.is_beside:
        await _apply_beside(database, part)
    await _apply_when_free(database, part)


async def _apply_when_free(database: Database, part: MigrationPart) -> None:
    """A part that is a transaction, and of any the note that it is done."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + TRY_SECONDS
    seconds, longest = LOCK_SECONDS
    while not await database.shared.write(_apply, database, part, seconds):
        if loop.time() >= ends_at:
            raise await database.shared.read(_held, part, database.place.shown)
        await asyncio.sleep(seconds * REST)
        seconds = min(seconds * 2, longest)


async def _apply(connection: Connection, database: Database, part: MigrationPart, seconds: float) -> bool:
    """Whether the locks were free."""
    await connection.row("schema.lock_version")
    await _check_turn(connection, part, database.place.shown)
    await connection.run("savepoint free")
    await connection.run(part.bounds(seconds))
    doing = asyncio.ensure_future(connection.run(part.whole(connection.schema), MIGRATION_SECONDS))
    is_broken_off = False
    try:
        while not (await asyncio.wait({doing}, timeout=seconds + LATE_SECONDS))[0]:
            is_broken_off |= await _break_off(connection, database)
        await doing
    except asyncpg.LockNotAvailableError:
        await connection.run("rollback to free")
        return False
    except asyncpg.QueryCanceledError:
        if not is_broken_off:
            raise
        await connection.run("rollback to free")
        return False
    finally:
        doing.cancel()
    return True


async def _break_off(connection: Connection, database: Database) -> bool:
    """End the statement's wait for a lock, if it waits: a server whose clock was set has forgotten how long it may."""
    with suppress(StoreUnavailable):
        asked = database.others.read(Connection.rows, "schema.break_off", connection.raw.get_server_pid())
        return bool(await asked)
    return False


async def _check_turn(connection: Connection, part: MigrationPart, place: str) -> None:
    """A process that lost its turn with its connection may find that another has gone on."""
    found = await versions.identity(connection, place)
    if found is None or await versions.schema_state(connection, found) != part.before:
        raise StoreUnavailable(
            f"store {place}: expected to be the only one to migrate it, found that another process has gone on; "
            "start again"
        )


async def _apply_beside(database: Database, part: MigrationPart) -> None:
    """Statements outside of a transaction; what an earlier try has left unfinished is made again."""
    connection = await database.connector.connect(REPLANNED, MIGRATION_SECONDS)
    try:
        for index, sql in part.indexes(connection.schema):
            found = await connection.row("schema.find_index", connection.schema, index)
            if found is not None and not found[0]:
                await connection.run(versions.drop_index(connection.schema, index))
            if found is None or not found[0]:
                await connection.run(sql)
    finally:
        await connection.close()


async def _held(connection: Connection, part: MigrationPart, place: str) -> StoreUnavailable:
    found = await connection.rows("schema.holders", connection.schema)
    names = [f"process {pid} ({', '.join(filter(None, (name, f'user {user}')))})" for pid, name, user in found]
    return StoreUnavailable(
        f"store {place}: expected the tables free for a moment within {TRY_SECONDS:g} s, to bring them to schema "
        f"version {part.version}, found them held by {' and '.join(names) or 'others'}; wait for the end of such long "
        "transactions, a dump among them, and start again"
    )
