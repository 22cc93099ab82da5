"""The layouts of docs/deployment.md, followed word for word with the rights and settings that it prints."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from servers import postgres
from tests.deploy import guide
from tests.deploy.host import Host, survive_a_death, try_it

pytestmark = pytest.mark.servers

PASSWORDS_ASKED = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
WEB, OPERATOR = "shop-web.env", "shop-operator.env"
PROCESSES = ("scheduler", "agent", "submission", "supervisor")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Host]:
    with deployed(tmp_path) as host:
        yield host


@contextmanager
def deployed(folder: Path, lacking: str = "") -> Iterator[Host]:
    """A host beside a database that has all that the page makes; each login has to give its password.

    What is ``lacking`` is left out of the page's grants where it comes first.
    """
    with postgres.running() as server:
        (server.folder / "pg_hba.conf").write_text(PASSWORDS_ASKED)
        server.reload()
        host = Host(folder, {"db.example": f"127.0.0.1:{server.port}"})
        try:
            asyncio.run(granted(host, server, lacking))
            yield host
        finally:
            host.close()


async def granted(host: Host, server: postgres.Server, lacking: str) -> None:
    """Carry out the section on rights, but for the processes."""
    section = guide.section(guide.RIGHTS)
    owner, others = guide.blocks("sql", section)
    [migrate, _] = guide.blocks("console", section)
    host.install(guide.files(section))
    await server.execute("create database shop")
    await server.execute(owner, "shop")
    await give_passwords(host, server, owner)
    ran = await asyncio.to_thread(host.type, guide.commands(migrate)[0], "shop-owner.env")
    assert ran.returncode == 0, ran.stderr
    assert lacking in others
    await server.execute(others.replace(lacking, "", 1), "shop")
    await give_passwords(host, server, others)


async def give_passwords(host: Host, server: postgres.Server, sql: str) -> None:
    for login, kind in re.findall(r"create role (shop_(\w+)) login", sql):
        await server.execute(f"alter role {login} password '{host.settings(f'shop-{kind}.env')['PGPASSWORD']}'")


def test_sqlite_in_one_process(host: Host) -> None:
    [_, _, run] = guide.commands(guide.blocks("console", guide.section("SQLite: one host, a local disk"))[0])
    host.run(run.arguments, {})
    try_it(host)
    assert (host.state / "stepward.db").stat().st_mode & 0o077 == 0


@pytest.mark.faults
def test_sqlite_with_a_unit_for_each_kind(host: Host) -> None:
    host.install({"shop.env": "APP=shop:app"})
    scheduler, *_ = [host.start(f"stepward-{kind}") for kind in PROCESSES]
    try_it(host)
    survive_a_death(host, scheduler, "stepward-scheduler")


def test_postgresql_with_a_login_for_each_process(database: Host) -> None:
    for unit in guide.units(guide.section(guide.RIGHTS)):
        database.start(unit)
    try_it(database, WEB, OPERATOR)


@pytest.mark.faults
def test_on_postgresql_another_scheduler_goes_on_with_its_login(database: Host) -> None:
    scheduler, *_ = [database.start(f"stepward-{kind}") for kind in PROCESSES]
    survive_a_death(database, scheduler, "stepward-scheduler", WEB, OPERATOR)


def test_a_right_that_the_page_leaves_out_is_named(tmp_path: Path) -> None:
    with (
        deployed(tmp_path, lacking="stepward_shop.task, ") as host,
        pytest.raises(AssertionError, match=r"expected the rights of scheduler .*: insert, select, update on task;"),
    ):
        host.start("stepward-scheduler")
