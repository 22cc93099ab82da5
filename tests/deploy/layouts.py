"""What docs/deployment.md has an operator set up for each layout, taken from the page and carried out."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from servers import nats, pgbouncer, postgres, rabbitmq
from stepward.settings import Settings
from tests.cli.processes import Process
from tests.deploy import guide
from tests.deploy.host import Host
from tests.programs import program

PASSWORDS_ASKED = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
ENCRYPTED = "db.example/shop?sslmode=verify-full"
"""How the page writes the database, whose server here speaks no TLS and is on this host."""
OWNER, WEB, OPERATOR = "shop-owner.env", "shop-web.env", "shop-operator.env"
NOTHING: Mapping[str, str] = MappingProxyType({})
FRONT_END = """
import asyncio, os
from stepward import Queues

async def main():
    async with Queues(os.environ["QUEUES"], app="shop") as queues:
        await queues.post("orders", os.environ["ORDER"], id=os.environ["ORDER"], reply_to="replies.shop.web")
        async for event in queues.events("replies.shop.web"):
            if event.type == "stepward.task.completed" and event.subject == os.environ["ORDER"]:
                print(event.data["result"])
                break

asyncio.run(asyncio.wait_for(main(), 50))
"""


@contextmanager
def beside(
    server: postgres.Server, folder: Path, lacking: str = "", names: Mapping[str, str] = NOTHING
) -> Iterator[Host]:
    """A host beside a database that has all that the page makes; each login has to give its password.

    What is ``lacking`` is left out of the page's grants where it comes first.
    """
    (server.folder / "pg_hba.conf").write_text(PASSWORDS_ASKED)
    server.reload()
    host = Host(folder, {ENCRYPTED: f"127.0.0.1:{server.port}/shop", **names})
    try:
        asyncio.run(_granted(host, server, lacking))
        yield host
    finally:
        host.close()


async def _granted(host: Host, server: postgres.Server, lacking: str) -> None:
    section = guide.section(guide.RIGHTS)
    owner, others, _ = guide.blocks("sql", section)
    [migrate, _] = guide.blocks("console", section)
    host.install(guide.files(section))
    await server.execute("create database shop")
    await server.execute(owner, "shop")
    await _give_passwords(host, server, owner)
    ran = await asyncio.to_thread(host.type, guide.commands(migrate)[-1], OWNER)
    assert ran.returncode == 0, ran.stderr
    assert lacking in others
    await server.execute(others.replace(lacking, "", 1), "shop")
    await _give_passwords(host, server, others)


async def _give_passwords(host: Host, server: postgres.Server, sql: str) -> None:
    for login, kind in re.findall(r"create role (shop_(\w+)) login", sql):
        await server.execute(f"alter role {login} password '{host.settings(f'shop-{kind}.env')['PGPASSWORD']}'")


@contextmanager
def over_nats(server: postgres.Server, folder: Path, lacking: str = "", more: str = "") -> Iterator[Host]:
    """A host beside a database and a NATS server with the page's logins, but for what is ``lacking``.

    ``more`` are settings of NATS.
    """
    section = guide.part(guide.section(guide.BROKER), "**NATS**", "**RabbitMQ**")
    [users] = [block for block in guide.blocks("", section) if block.startswith("authorization")]
    assert lacking in users
    with (
        nats.running(users=users.replace(lacking, "") + more) as node,
        beside(server, folder, names={"nats.example": f"127.0.0.1:{node.port}"}) as host,
    ):
        host.install(guide.more(section))
        yield host


@contextmanager
def over_rabbitmq(
    server: postgres.Server, folder: Path, lacking: str = "", settings: str = "", plugins: Sequence[str] = ()
) -> Iterator[Host]:
    """A host beside a database and a RabbitMQ server with the page's logins, but for what is ``lacking``.

    ``settings`` and ``plugins`` are the server's.
    """
    section = guide.part(guide.section(guide.BROKER), "**RabbitMQ**", "| setting")
    added = guide.more(section)
    program("rabbitmq-server", "rabbitmq-server")
    with rabbitmq.running(settings=settings, plugins=plugins) as broker:
        admit(broker, section, lacking)
        with beside(server, folder, names={"rabbitmq.example": f"127.0.0.1:{broker.port}"}) as host:
            host.install(added)
            yield host


def admit(broker: rabbitmq.RabbitServer, section: str, lacking: str = "") -> list[str]:
    """Make the section's users and their permissions at RabbitMQ; their names."""
    passwords = dict(re.findall(r"amqp://(\w+):(.*?)@", "".join(guide.more(section).values())))
    [typed] = guide.blocks("console", section)
    assert lacking in typed
    for command in guide.commands(typed.replace(lacking, "")):
        _, *arguments = command.words
        broker.control(*arguments, typed=f"{passwords.get(arguments[-1], '')}\n")
    return list(passwords)


@contextmanager
def through_a_pooler(server: postgres.Server, folder: Path) -> Iterator[Host]:
    """A host beside a database, of which only the owner speaks with the server and not with PgBouncer."""
    section = guide.section(guide.RIGHTS)
    files = guide.files(section)
    logins = {name: f"shop_{name.removeprefix('shop-').removesuffix('.env')}" for name in files if name != "shop.env"}
    program("pgbouncer", "pgbouncer")
    with beside(server, folder) as host:
        users = {login: host.settings(name)["PGPASSWORD"] for name, login in logins.items()}
        *_, bounds = guide.blocks("sql", section)
        asyncio.run(server.execute(bounds))
        with pgbouncer.running(server.port, "transaction", users=users) as port:
            others = {name: text for name, text in files.items() if name not in ("shop.env", OWNER)}
            host.install({name: text.replace(ENCRYPTED, f"127.0.0.1:{port}/shop") for name, text in others.items()})
            # The page's bounds are for the default lease of processes.
            host.install(dict.fromkeys(others, f"STEPWARD_LEASE={Settings().lease:g}s\n"))
            yield host


def begun(host: Host) -> list[Process]:
    """The Scheduler and the others, as the section on rights enables them."""
    is_over_a_broker = host.settings("shop-agent.env").get("STEPWARD_TRANSPORT", "store") != "store"
    only = guide.drop_in(guide.section(guide.BROKER)) if is_over_a_broker else ""
    if is_over_a_broker:
        with pytest.raises(AssertionError, match="start a Scheduler first"):
            host.start("stepward-agent", only)
    units = guide.units(guide.section(guide.RIGHTS))
    return [host.start(unit, only if unit == "stepward-agent" else "") for unit in units]


def listen(host: Host, queues: str, order: str = "order-5") -> None:
    """Post as a front end and hear of the task's end, at the address that the setting of that name says."""
    settings = host.settings(WEB)
    ran = subprocess.run(
        [sys.executable, "-c", FRONT_END],
        env=os.environ | {"QUEUES": settings[queues], "PGPASSWORD": settings["PGPASSWORD"], "ORDER": order},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, f"paid for {order}\n"), ran.stderr
