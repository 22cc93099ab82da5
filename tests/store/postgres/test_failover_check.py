"""``stepward check`` on real servers: standbys that are attached, missing, hidden, and a primary that was replaced."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stepward.cli.main import cli
from stepward.store.contract import ServerHost
from stepward.store.store_at_address import inspect
from tests.store.postgres.pairs import IN_SYNC, WAITING, Stage, frozen
from tests.store.postgres.pooler import pooler
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

PLAIN = """
do $$ begin if not exists (select 1 from pg_roles where rolname = 'plain') then create role plain login; end if; end $$;
grant usage on schema stepward_shop to plain; grant select on all tables in schema stepward_shop to plain
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


async def check(address: str, *options: str, standbys: int = 0) -> Result:
    env = {"STEPWARD_SYNCHRONOUS_STANDBYS": str(standbys)}
    return await asyncio.to_thread(CliRunner().invoke, cli, ["check", "--store", address, *options], env=env)


async def as_json(address: str, standbys: int = 0) -> Any:
    return json.loads((await check(address, "--json", standbys=standbys)).stdout)


def warned(found: Any) -> list[str]:
    """The warnings but for what these servers do without, to be fast."""
    without = ("expected fsync and full_page_writes on", "expected autovacuum and track_counts on")
    return [line for line in found["warnings"] if not any(words in line for words in without)]


async def test_a_pair_in_sync_is_shown_and_nothing_is_wrong(stage: Stage) -> None:
    await stage.opened()
    await stage.until(IN_SYNC)
    result = await check(stage.address, standbys=1)
    assert result.exit_code == 0
    assert f"database {stage.name}, schema stepward_shop, user postgres, directly" in result.stdout
    assert "yes (sync)" in result.stdout
    found = await as_json(stage.address, standbys=1)
    assert found["problems"] == []
    assert warned(found) == []
    server = found["server"]
    assert [host["role"] for host in server["hosts"]] in (["primary", "standby"], ["standby", "primary"])
    assert abs(server["clock_ahead"]) < 1


async def test_a_standby_that_is_silently_not_waited_for_is_found(stage: Stage) -> None:
    await stage.opened()
    stage.pair.expect_standby(False)
    await stage.until("select 1 where current_setting('synchronous_standby_names') = ''")
    result = await check(stage.address, standbys=1)
    assert result.exit_code == 1
    assert "✗ synchronous_standbys: expected 1 that commits wait for, found 0 of 1 attached" in result.stdout
    assert len((await as_json(stage.address, standbys=1))["problems"]) == 1
    stage.pair.expect_standby(True)
    await stage.until(IN_SYNC)


async def test_a_user_without_the_right_to_see_standbys_sees_what_to_grant(stage: Stage) -> None:
    await stage.opened()
    await stage.pair.primary.execute(PLAIN, stage.name)
    address = stage.address.replace("postgres@", "plain@")
    found = await as_json(address, standbys=1)
    assert found["server"]["standbys"] is None
    assert found["problems"][0].endswith("grant pg_monitor to plain")
    await stage.pair.primary.execute("grant pg_monitor to plain")
    assert (await as_json(address, standbys=1))["problems"] == []
    await stage.pair.primary.execute("drop owned by plain; drop role plain", stage.name)


async def test_a_primary_that_was_replaced_and_runs_on_is_found(stage: Stage) -> None:
    await stage.opened()
    old = await stage.usurp()
    found = await as_json(stage.address)
    assert len(found["problems"]) == 1
    assert found["problems"][0].endswith(f"stop 127.0.0.1:{old.port}, which has been replaced")


async def test_commits_that_hang_for_want_of_a_standby_are_found(stage: Stage) -> None:
    await stage.opened()
    with frozen(stage.pair.standby):
        hanging = asyncio.create_task(stage.rows("create table late (x integer)"))
        await stage.until(f"{WAITING.replace('order by pid', '')} and state_change < now() - interval '1.1 s'")
        found = await as_json(stage.pair.primary.address(stage.name))
    await hanging
    assert "found 1 waiting for more than a second" in found["problems"][0]


async def test_a_host_that_does_not_answer_is_shown(database: Database) -> None:
    await database.opened()
    both = database.address.replace("@", "@127.0.0.1:1,")
    server = await asyncio.to_thread(inspect, both)
    assert server is not None
    assert [host.role for host in server.hosts] == ["silent", "primary"]
    assert server.hosts[0] == ServerHost(host="127.0.0.1:1", role="silent")


async def test_a_pooler_between_is_shown_with_what_is_missing(database: Database) -> None:
    await database.opened()
    async with pooler(database.server.port) as port:
        address = f"postgresql://postgres@127.0.0.1:{port}/{database.name}"
        result = await check(address)
        assert "through a pooler in transaction mode" in result.stdout
        assert "! pooler: expected statement_timeout and idle_in_transaction_session_timeout" in result.stdout
        await database.rows(f"alter database {database.name} set statement_timeout = '4s'")
        await database.rows(f"alter database {database.name} set idle_in_transaction_session_timeout = '4s'")
        assert warned(await as_json(address)) == []
