"""The PostgreSQL server behind a store: problems, warnings, and its hosts and standbys as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.durations import text
from stepward.model.records import Instance
from stepward.settings import Settings
from stepward.store.contract import Hold, Server, ServerHost, Standby
from stepward.views.printable import clean
from stepward.views.times import NOTHING

CONNECTIONS = 15
"""Most connections that one process's store opens: for turns, leases, hints, other queries, and applications."""
CLOCK_SECONDS = 1.0
UNSAFE_COMMITS = ("off", "local")
"""Values of synchronous_commit that do not wait for a standby."""

HOST_COLUMNS = (Column(name="HOST", least=12, middle=True), Column(name="ROLE"), Column(name="TIMELINE", right=True))
STANDBY_COLUMNS = (
    Column(name="STANDBY", least=10, middle=True),
    Column(name="STATE"),
    Column(name="COMMITS WAIT FOR IT"),
    Column(name="BEHIND", right=True),
)
ROLES = {"primary": "green", "standby": "cyan", "silent": "yellow"}


def problems(server: Server, settings: Settings) -> list[str]:
    """A line for each setting that the deployment requires and does not have."""
    return [*_primaries(server), *_replication(server, settings.synchronous_standbys)]


def warnings(server: Server, settings: Settings, instances: Sequence[Instance]) -> list[str]:
    """A line for each setting or state that may be intended and may do harm."""
    return [
        *_safety(server, settings.synchronous_standbys),
        *_room(server, instances),
        *_pooler(server),
        *_clock(server),
        *[_hold(hold) for hold in server.holds],
        *_vacuum(server),
    ]


def print_server(console: Console, server: Server) -> None:
    """The server, its hosts and its standbys."""
    console.print(Text(f"\nPostgreSQL {clean(server.version)}", style="bold"))
    for line in _lines(server):
        console.print(Text(clean(line)))
    print_table(HOST_COLUMNS, [_host_row(host) for host in server.hosts], "", title="Hosts")
    hidden = f"{clean(server.user)} may not see their state; grant it pg_monitor."
    rows = [_standby_row(standby) for standby in server.standbys or []]
    empty = hidden if server.standbys is None else "No standby is attached."
    print_table(STANDBY_COLUMNS, rows, empty, title="Standbys")


def _lines(server: Server) -> list[str]:
    way = "through a pooler in transaction mode" if server.pooled else "directly"
    commits = f"synchronous_commit {server.synchronous_commit}, synchronous_standby_names "
    return [
        f"database {server.database}, schema {server.schema}, user {server.user}, {way}",
        f"connections {server.connections} of {server.connections_most}, {server.connections_ours} of them Stepward's; "
        f"clock {server.clock_ahead:+.3f} s",
        commits + (server.synchronous_standby_names or "empty"),
    ]


def _host_row(host: ServerHost) -> list[Cell]:
    timeline = NOTHING if host.timeline is None else str(host.timeline)
    return [Cell(host.host), Cell(host.role, ROLES[host.role]), Cell(timeline)]


def _standby_row(standby: Standby) -> list[Cell]:
    waits = Cell(f"yes ({standby.sync})", "green") if standby.confirms else Cell(f"no ({standby.sync})", "yellow")
    return [Cell(standby.name), Cell(standby.state), waits, Cell(f"{standby.behind:,} B")]


def _primaries(server: Server) -> list[str]:
    primaries = sorted((host for host in server.hosts if host.role == "primary"), key=lambda host: host.timeline or 0)
    if len(primaries) < 2:
        return []
    found = " and ".join(f"{host.host} on timeline {host.timeline}" for host in primaries)
    return [f"store: expected one primary, found {found}; stop {primaries[0].host}, which has been replaced"]


def _replication(server: Server, expected: int) -> list[str]:
    found = []
    if server.waiting:
        found.append(
            f"store: expected standbys to confirm commits at once, found {server.waiting} waiting for more than a "
            "second; bring the synchronous standby back, or take it out of synchronous_standby_names"
        )
    if expected:
        found += _attached(server, expected)
    if expected and server.synchronous_commit in UNSAFE_COMMITS:
        found.append(
            f"synchronous_standbys: expected synchronous_commit on, found {server.synchronous_commit}: no commit waits "
            f"for a standby; reset it for {server.user}"
        )
    return found


def _attached(server: Server, expected: int) -> list[str]:
    if server.standbys is None:
        return [
            f"synchronous_standbys: expected to see the state of the standbys, found that {server.user} may not; "
            f"grant pg_monitor to {server.user}"
        ]
    confirming = sum(standby.confirms for standby in server.standbys)
    if confirming >= expected:
        return []
    why = "" if server.synchronous_standby_names else ", as synchronous_standby_names is empty"
    return [
        f"synchronous_standbys: expected {expected} that commits wait for, found {confirming} of "
        f"{len(server.standbys)} attached{why}: commits may now be lost with the primary"
    ]


def _safety(server: Server, expected: int) -> list[str]:
    found = []
    if not server.fsync or not server.full_page_writes:
        off = " and ".join(name for name in ("fsync", "full_page_writes") if not getattr(server, name))
        found.append(f"server: expected fsync and full_page_writes on, found {off} off: a crash may break the database")
    if not expected and server.synchronous_commit == "off":
        found.append(
            "server: expected synchronous_commit on, found off: the commits acknowledged last are lost in a crash; "
            f"turn it on for {server.user}"
        )
    if expected and len(server.hosts) == 1:
        found.append(
            "store: expected an address that names the standbys too, found one host: after a failover "
            "no process finds the new primary; write postgresql://USER@HOST,HOST/DATABASE"
        )
    return found


def _room(server: Server, instances: Sequence[Instance]) -> list[str]:
    processes = len({(instance.host, instance.pid) for instance in instances if instance.alive})
    room = server.connections_most - (server.connections - server.connections_ours)
    if server.pooled or processes * CONNECTIONS <= room:
        return []
    return [
        f"server: expected room for {processes * CONNECTIONS:,} connections ({processes:,} processes, {CONNECTIONS} "
        f"each at most), found room for {room:,}; raise max_connections, or put a pooler between"
    ]


def _pooler(server: Server) -> list[str]:
    if not server.pooled or server.bounded:
        return []
    return [
        f"pooler: expected statement_timeout and idle_in_transaction_session_timeout for {server.user}, found one of "
        "them unset: a stopped process may hold locks for long; set both below half of the lease"
    ]


def _clock(server: Server) -> list[str]:
    if abs(server.clock_ahead) <= CLOCK_SECONDS:
        return []
    return [
        f"clock: expected the server's within {CLOCK_SECONDS:g} s of this host's, found it {server.clock_ahead:+.1f} s "
        "off; the server's clock decides: synchronise the clocks of all servers that can take over"
    ]


def _hold(hold: Hold) -> str:
    since = "for long" if hold.seconds is None else f"for {text(round(hold.seconds))}"
    if hold.kind == "slot":
        return (
            f"replication: expected a reader of each slot, found none of the {hold.by} slot {hold.name}: the "
            f"server keeps {hold.kept or 0:,} B of log for it, and more until the disk is full; start its "
            f"reader, or drop it: select pg_drop_replication_slot('{hold.name}')"
        )
    if hold.kind == "prepared":
        return (
            f"vacuum: expected prepared transactions to end soon, found {hold.name!r} of {hold.by} open {since}: "
            f"deleted rows stay in the tables meanwhile; run commit prepared or rollback prepared '{hold.name}'"
        )
    return (
        f"vacuum: expected transactions to end soon, found that of process {hold.name} ({hold.by}) open {since}: "
        f"deleted rows stay in the tables meanwhile, and queues slow down; let it end, or end it: "
        f"select pg_terminate_backend({hold.name})"
    )


def _vacuum(server: Server) -> list[str]:
    found = [
        f"vacuum: expected autovacuum to keep up with {server.schema}.{bloat.table}, found {bloat.dead:,} dead rows "
        f"beside {bloat.live:,} live ones; end the transaction that keeps them, else raise "
        f"autovacuum_vacuum_cost_limit, or run vacuum {server.schema}.{bloat.table}"
        for bloat in server.bloat
    ]
    if not server.autovacuum:
        found.append(
            "vacuum: expected autovacuum and track_counts on for every table, found one of them off: deleted rows "
            "stay; turn it on"
        )
    return found
