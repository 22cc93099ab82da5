"""`python -m servers.keeper KIND --ports PORT…`: keep servers of one kind until asked to end.

A line of JSON gives their state, once all run and at every change. Their data are deleted at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from servers import activemq, nats, rabbitmq
from servers.keeper import pair
from servers.keeper.nodes import Keeper
from servers.keeper.transports import TransportKind
from servers.postgres import Pair, Server, newest
from servers.postgres.programs import reachable
from servers.postgres.server import cluster, home
from servers.tether import listen, until

POSTGRES = "postgres"
NAMES = ("first", "second")
SETTINGS = {"max_connections": "200"}

Keep = Callable[[], Coroutine[Any, Any, None]]
"""Begins the servers, and mends what dies, for ever; raises RuntimeError when that fails."""


def main() -> None:
    """Read the command line and keep the servers."""
    parser = argparse.ArgumentParser(prog="python -m servers.keeper", description=__doc__)
    parser.add_argument("kind", choices=sorted(KEEPERS))
    parser.add_argument("--ports", nargs="+", type=int, required=True, metavar="PORT", help="one for each server")
    parser.add_argument(
        "--away", type=float, default=0.0, metavar="SECONDS", help="how long a broker's server that ended is away"
    )
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    with KEEPERS[given.kind](given.ports, given.away) as keep:
        try:
            asyncio.run(_work(given.kind, keep, is_tethered=given.tethered))
        except RuntimeError as error:
            sys.exit(f"{given.kind}: {error}")


async def _work(kind: str, keep: Keep, *, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    # Before any server starts: from now on the parent process may end this one in good order.
    print(f"{kind} ready", flush=True)
    await until(told, keep())


@contextmanager
def _postgres(ports: Sequence[int], _away: float) -> Iterator[Keep]:
    with home() as folder:
        programs = reachable(newest(), folder)
        first, second = (
            Server(programs, cluster(folder, name), SETTINGS, port) for name, port in zip(NAMES, ports, strict=True)
        )
        servers = Pair(first, second, synchronous=True)
        try:
            yield lambda: pair.keep(servers)
        finally:
            # Only now no thread is at work on them any more.
            servers.stop()


@contextmanager
def _nats(ports: Sequence[int], away: float) -> Iterator[Keep]:
    with nats.home() as folder:
        nodes = [nats.NatsNode(folder, f"node{number}", port=port) for number, port in enumerate(ports, start=1)]
        try:
            yield Keeper(TransportKind.NATS.brand, nodes, nats.NatsCluster(nodes).start, away=away).keep
        finally:
            for node in nodes:
                node.kill()


@contextmanager
def _rabbitmq(kind: TransportKind, ports: Sequence[int], away: float) -> Iterator[Keep]:
    with rabbitmq.home() as folder:
        [port] = ports
        plugins = (rabbitmq.AMQP10,) if kind is TransportKind.AMQP10 else ()
        server = rabbitmq.RabbitServer(folder, port, is_traced=True, plugins=plugins)
        try:
            yield Keeper(kind.brand, [server], server.start, away=away).keep
        finally:
            server.stop()


@contextmanager
def _activemq(ports: Sequence[int], away: float) -> Iterator[Keep]:
    programs = activemq.distribution()
    if programs is None:
        sys.exit(f"{TransportKind.ACTIVEMQ}: expected a distribution with AMQP in {activemq.VARIABLE}, found none")
    with activemq.home() as folder:
        [port] = ports
        server = activemq.ActiveMqServer(programs, folder, port, is_watched=True)
        try:
            yield Keeper(TransportKind.ACTIVEMQ.brand, [server], server.start, away=away).keep
        finally:
            server.kill()


KEEPERS: dict[str, Callable[[Sequence[int], float], AbstractContextManager[Keep]]] = {
    POSTGRES: _postgres,
    TransportKind.NATS: _nats,
    TransportKind.RABBITMQ: partial(_rabbitmq, TransportKind.RABBITMQ),
    TransportKind.AMQP10: partial(_rabbitmq, TransportKind.AMQP10),
    TransportKind.ACTIVEMQ: _activemq,
}


if __name__ == "__main__":
    main()
