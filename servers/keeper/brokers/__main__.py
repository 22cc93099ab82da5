"""`python -m servers.keeper.brokers KIND --ports PORT…`: keep the servers of a broker until told to stop.

A line of JSON says which of them run, once all do and whenever that changes. All their data go with them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from servers import nats, rabbitmq
from servers.keeper.brokers.keeper import Keeper
from servers.keeper.transports import BROKERS, TransportKind
from servers.tether import listen, until


def main() -> None:
    """Read the command line and keep the servers."""
    parser = argparse.ArgumentParser(prog="python -m servers.keeper.brokers", description=__doc__)
    parser.add_argument("kind", choices=sorted(BROKERS))
    parser.add_argument("--ports", nargs="+", type=int, required=True, metavar="PORT", help="one for each server")
    parser.add_argument("--away", type=float, required=True, metavar="SECONDS", help="how long one that ended is away")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    with KEEPERS[TransportKind(given.kind)](given.ports, given.away) as keeper:
        try:
            asyncio.run(_work(given.kind, keeper, is_tethered=given.tethered))
        except RuntimeError as error:
            sys.exit(f"{given.kind}: {error}")


async def _work(kind: str, keeper: Keeper, *, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    # Before anything is begun: whoever reads this may end it in good order from now on.
    print(f"{kind} ready", flush=True)
    await until(told, keeper.keep())


@contextmanager
def _nats(ports: list[int], away: float) -> Iterator[Keeper]:
    with nats.home() as folder:
        nodes = [nats.NatsNode(folder, f"node{number}", port=port) for number, port in enumerate(ports, start=1)]
        try:
            yield Keeper(TransportKind.NATS.brand, nodes, nats.NatsCluster(nodes).start, away=away)
        finally:
            for node in nodes:
                node.kill()


@contextmanager
def _rabbitmq(ports: list[int], away: float) -> Iterator[Keeper]:
    with rabbitmq.home() as folder:
        [port] = ports
        server = rabbitmq.RabbitServer(folder, port, is_traced=True)
        try:
            yield Keeper(TransportKind.RABBITMQ.brand, [server], server.start, away=away)
        finally:
            server.stop()


KEEPERS: dict[TransportKind, Callable[[list[int], float], AbstractContextManager[Keeper]]] = {
    TransportKind.NATS: _nats,
    TransportKind.RABBITMQ: _rabbitmq,
}


if __name__ == "__main__":
    main()
