"""The inspection of the server behind a store, which changes nothing."""

from __future__ import annotations

from urllib.parse import urlsplit

from stepward.clock import SystemClock
from stepward.store.address import PostgresPlace
from stepward.store.contract import Server, ServerHost
from stepward.store.postgres.engine.connecting.connector import Connector, ServerAddress
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.server import vacuum
from stepward.store.postgres.server.replication import standbys


async def inspect(place: PostgresPlace, schema: str) -> Server:
    """The server that holds the schema. Raises in Stepward's words."""
    connector = Connector(place, schema)
    connection = await connector.connect({})
    try:
        return await _inspected(connector, connection)
    except BROKEN as error:
        raise translated(error, place.shown) from error
    finally:
        await connection.close()


async def _inspected(connector: Connector, connection: Connection) -> Server:
    clock = SystemClock()
    sent = clock.wall()
    ((version, database, user, shown, used, most, ours, names, commit, fsync, pages, bounded),) = await connection.rows(
        "replication.server"
    )
    ahead = shown - (sent + clock.wall()) / 2
    ((_, waiting),) = await connection.rows("replication.waiting")
    return Server(
        version=version,
        database=database,
        schema=connection.schema,
        user=user,
        hosts=[_host(host) for host in await connector.hosts()],
        pooled=connector.pooled,
        bounded=bounded,
        clock_ahead=ahead,
        connections=used,
        connections_most=most,
        connections_ours=ours,
        waiting=waiting,
        synchronous_standby_names=names,
        synchronous_commit=commit,
        fsync=fsync,
        full_page_writes=pages,
        standbys=await standbys(connection),
        autovacuum=await vacuum.is_automatic(connection),
        holds=await vacuum.holds(connection),
        bloat=await vacuum.bloat(connection),
    )


def _host(host: ServerAddress) -> ServerHost:
    shown = urlsplit(host.dsn).netloc.rpartition("@")[2]
    if not host.answers:
        return ServerHost(host=shown, role="silent")
    if host.line is None:
        return ServerHost(host=shown, role="standby")
    return ServerHost(host=shown, role="primary", timeline=host.line.timeline)
