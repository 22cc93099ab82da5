"""The sign on the shop's door: where everything is, and how to close."""

from __future__ import annotations

from examples.shop.processes.premises import Premises
from servers.keeper.broker_process import BrokerProcess
from servers.keeper.broker_state import BrokerStanding
from servers.keeper.pair_process import PairProcess
from servers.keeper.pair_state import Standing
from servers.keeper.process import Process


def sign(premises: Premises, storefront: Process, control: Process, console: Process) -> str:
    """What a visitor reads once all is open."""
    places = [
        ("storefront", storefront.url, "order here"),
        ("control", control.url, "make the services misbehave"),
        ("console", console.url, "look and act as an operator"),
        *((name, service.url, "") for name, service in premises.services.items()),
    ]
    lines = [f"  {name:12}{url:25}{what}".rstrip() for name, url, what in places]
    return "\n".join(
        [
            "",
            "The shop is open.",
            "",
            *lines,
            "",
            *_kept(premises),
            "  look and act as an operator in a terminal with",
            f"    export STEPWARD_STORE={premises.store}",
            *_transport(premises),
            "    .venv/bin/stepward tasks",
            *([] if premises.pair is None else _try_failover(premises.pair)),
            *([] if premises.broker is None else _try_outage(premises.broker)),
            "",
            "Ctrl-C closes it.",
            "",
        ]
    )


def word_of(standing: Standing | BrokerStanding) -> str:
    """How servers stand, in a line."""
    if isinstance(standing, BrokerStanding):
        return _word_of_broker(standing)
    if standing.standby is None:
        return f"PostgreSQL: {standing.primary} is the primary, and alone; it is given a standby ..."
    return f"PostgreSQL: {standing.primary} is the primary, {standing.standby} its standby"


def _word_of_broker(standing: BrokerStanding) -> str:
    running = ", ".join(map(str, standing.servers))
    if standing.size == 1:
        return running or f"{standing.title} ended, and is started again ..."
    missing = standing.size - len(standing.servers)
    return f"{standing.title}: {running}" + (f"; {missing} of {standing.size} is started again ..." if missing else "")


def _kept(premises: Premises) -> list[str]:
    if premises.stage.has_servers:
        return [f"  data and logs are in {premises.folder}, and go when the shop closes"]
    return [f"  data and logs are kept in {premises.folder}"]


def _transport(premises: Premises) -> list[str]:
    return [] if premises.broker is None else [f"    export STEPWARD_TRANSPORT='{premises.transport}'"]


def _try_outage(broker: BrokerProcess) -> list[str]:
    server, *others = broker.standing.servers
    happens = "lose a server" if others else "begin again"
    return [f"  see {broker.transport.brand} {happens}: order, and end it with", f"    kill {server.pid}"]


def _try_failover(pair: PairProcess) -> list[str]:
    standing = pair.standing
    return [
        "  look into the database with any client of PostgreSQL's:",
        f"    psql '{pair.address}?target_session_attrs=read-write'",
        "  see it fail over: order, and end the primary at once with",
        f"    kill -9 {standing.primary.pid}",
    ]
