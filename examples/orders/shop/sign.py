"""The sign on the shop's door: where everything is, and how to close."""

from __future__ import annotations

from examples.orders.postgres.process import PairProcess
from examples.orders.postgres.standing import Standing
from examples.orders.processes.premises import Premises
from examples.orders.processes.process import Process


def sign(premises: Premises, storefront: Process, control: Process) -> str:
    """What a visitor reads once all is open."""
    places = [
        ("storefront", storefront.url, "order here"),
        ("control", control.url, "make the services misbehave"),
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
            "  look and act as an operator with",
            f"    export STEPWARD_STORE={premises.store}",
            "    .venv/bin/stepward tasks",
            *([] if premises.pair is None else _try_failover(premises.pair)),
            "",
            "Ctrl-C closes it.",
            "",
        ]
    )


def word_of(standing: Standing) -> str:
    """How the database servers stand, in a line."""
    if standing.standby is None:
        return f"PostgreSQL: {standing.primary} is the primary, and alone; it is given a standby ..."
    return f"PostgreSQL: {standing.primary} is the primary, {standing.standby} its standby"


def _kept(premises: Premises) -> list[str]:
    if premises.pair is None:
        return [f"  data and logs are kept in {premises.folder}"]
    return [f"  data and logs are in {premises.folder}, and go when the shop closes"]


def _try_failover(pair: PairProcess) -> list[str]:
    standing = pair.standing
    return [
        "  look into the database with any client of PostgreSQL's:",
        f"    psql '{pair.address}?target_session_attrs=read-write'",
        "  see it fail over: order, and end the primary at once with",
        f"    kill -9 {standing.primary.pid}",
    ]
