"""``make record``: writes a store of this version with tasks under way, for the tests of the versions after it.

A process works on the six tasks of ``shop.py``, and is killed when three calls do not return and two tasks wait. What
is in its store is written as SQL, once for SQLite and once for PostgreSQL, without names of the host and secrets.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apsw
import apsw.shell
import asyncpg

import stepward
from servers.postgres import running
from stepward import App
from tests.store.migrated import shop

HERE = Path(__file__).parent
ORDERS = ("shipping", "refused", "sleeping", "waiting", "family")
STUCK = {"ship shipping", "ship family", "refund refused"}
WAITING = ("sleeping", "waiting")
MOST_SECONDS = 60.0
CLEAN = (
    "update {instance} set host = 'host', pid = 1",
    "update {meta} set value = '{zeros}' where key in ('completion_key', 'request_key')",
)
CLEAN_ON_SQLITE = (
    *CLEAN,
    "update {meta} set value = x'{zeros}' where key = 'completion_key'",
    "update {meta} set value = 'a-start-of-then' where key = 'boot_id'",
)
BODIES_LATER = "SET check_function_bodies = false;\n"
"""Functions are created before the tables that they name."""
META_COMMANDS = re.compile(r"^(\\|--|SET |SELECT pg_catalog\.set_config).*\n|^\n", re.MULTILINE)


def main() -> None:
    """Writes both files; an argument with ``--begin`` is the killed process itself."""
    parser = argparse.ArgumentParser(prog="make record", description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--begin", metavar="STORE")
    given = parser.parse_args()
    if given.begin is not None:
        asyncio.run(_work_and_die(given.begin))
    for path in record(given.folder):
        sys.stdout.write(f"{path}\n")


def record(folder: Path, name: str = stepward.__version__) -> list[Path]:
    """The two files of a version. Raises SystemExit if one is there already: a release is recorded once."""
    made = [folder / f"{name}.sqlite.sql", folder / f"{name}.postgresql.sql"]
    there = [str(each) for each in made if each.exists()]
    if there:
        raise SystemExit(
            f"record: expected no store of {name} yet, found {there[0]}; a released version's stays as it is"
        )
    with tempfile.TemporaryDirectory() as scratch:
        made[0].write_text(_sqlite(Path(scratch) / "tasks.db", name), "utf-8")
        made[1].write_text(_postgresql(name), "utf-8")
    return made


def _title(name: str) -> str:
    at = int(time.time())
    return f"-- A store as version {name} left it when its process was killed at {at}, with six tasks under way.\n"


def _sqlite(file: Path, name: str) -> str:
    _begin(f"sqlite:///{file}")
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        for statement in CLEAN_ON_SQLITE:
            connection.execute(_statement(statement, "stepward_{}"))
        written = io.StringIO()
        apsw.shell.Shell(stdout=written, db=connection).process_command(".dump stepward_%")  # type: ignore[no-untyped-call]
    return (
        _title(name)
        + "PRAGMA application_id=1400139876;\nPRAGMA journal_mode=wal;\n"
        + _without_notes(written.getvalue())
    )


def _without_notes(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if line and not line.startswith("--"))


def _postgresql(name: str) -> str:
    with running() as server:
        address = server.address("postgres")
        _begin(address)
        asyncio.run(_clean(address))
        command = [str(server.programs / "pg_dump"), "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-w"]
        command += ["--inserts", "--no-owner", "--no-privileges", "--schema=stepward_shop", "postgres"]
        dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return _title(name) + BODIES_LATER + META_COMMANDS.sub("", dumped)


async def _clean(address: str) -> None:
    connection = await asyncpg.connect(address)
    for statement in CLEAN:
        await connection.execute(_statement(statement, "stepward_shop.{}"))
    await connection.close()


def _statement(text: str, form: str) -> str:
    return text.format(instance=form.format("instance"), meta=form.format("meta"), zeros="00" * 32)


def _begin(store: str) -> None:
    command = [sys.executable, "-m", "tests.store.migrated.record", "--begin", store]
    ran = subprocess.run(
        command, cwd=HERE.parents[2], check=False, capture_output=True, text=True, timeout=MOST_SECONDS
    )
    if ran.returncode != -signal.SIGKILL:
        raise SystemExit(
            f"record: expected the process to be killed at work, found exit code {ran.returncode}: {ran.stderr}"
        )


async def _work_and_die(store: str) -> None:
    shop.STUCK |= STUCK
    workflows = {"shipping": shop.fulfil, "refused": shop.fulfil, "sleeping": shop.later}
    workflows |= {"waiting": shop.approved, "family": shop.parent}
    app = App("shop", workflows=[*set(workflows.values())], agents=[shop.payments, shop.parcels], store=store)
    async with app.running(), app.client() as client, asyncio.timeout(MOST_SECONDS / 2):
        for order in ORDERS:
            await client.submit(workflows[order], order, id=order)
        while not await _is_under_way(client):  # noqa: ASYNC110  no event says that they wait
            await asyncio.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)


async def _is_under_way(client: stepward.Client) -> bool:
    states = {(await client.task(order).status()).state for order in WAITING}
    return set(shop.CALLS) >= STUCK and states == {"waiting"}


if __name__ == "__main__":
    main()
