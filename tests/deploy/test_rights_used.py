"""No right of docs/deployment.md is more than its login needs: each is used in the life of a shop, or is said here."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import asyncpg
import nats as client
import pytest

from servers import postgres
from tests.cli.processes import PATIENCE, Process, looks
from tests.deploy import guide
from tests.deploy.host import Host, done_well, survive_a_death, try_it
from tests.deploy.layouts import OPERATOR, WEB, begun, beside, listen, over_nats
from tests.deploy.rare_rights import RARE_ON_POSTGRESQL

pytestmark = pytest.mark.faults

REQUEST = re.compile(r"cid:(\d+) .*<<- \[(PUB|HPUB|SUB) ([^\s\]]+)")
LOGIN = re.compile(r"cid:(\d+) .*_INBOX\.shop\.(\w+)\.")
STATEMENT = re.compile(r"^(shop_\w+)\|LOG: {2}(?:statement|execute \S+): (.*?)(?=^\S*\||\Z)", re.MULTILINE | re.DOTALL)
RARE_AT_NATS = {
    "scheduler": {"PUB stepward.shop.told": "tells Agents that workflow code has stopped waiting for a step"},
    "payments": {
        "PUB stepward.shop.queue.agents.payments": "gives back what came with other requests, and was not begun"
    },
    "web": {
        "PUB $JS.API.STREAM.MSG.DELETE.STEPWARD_shop+responses": "deletes an event settled before those in front of it"
    },
}
LOGINS = frozenset(RARE_ON_POSTGRESQL)
"""Operators and the owner have every right on the tables, as the page says."""
INBOX = "_INBOX.shop.scheduler"
GRANTED = """
select c.relname::text, lower(p.privilege_type) from pg_class as c, aclexplode(c.relacl) as p
where c.relnamespace = 'stepward_shop'::regnamespace and p.grantee = $1::regrole and c.relkind = 'r'
"""


def live(host: Host, queues: str) -> None:
    """All that a shop meets, deaths, undo and mistakes included."""
    scheduler, agent, *_ = begun(host)
    try_it(host, WEB, OPERATOR)
    listen(host, queues)
    put_back(host)
    give_up(host, agent)
    survive_a_death(host, scheduler, "stepward-scheduler", WEB, OPERATOR)


def put_back(host: Host) -> None:
    """Post what no submission accepts, have it tried again, in vain, and wait for the sinks to get the alert on it."""
    done_well(host.ask("post", "shop:app", "orders", "7", "--id", "order-7", file=WEB))
    until(lambda: host.ask("dead-letters", "put-back", "1", file=OPERATOR).returncode == 0)
    until(lambda: bool(json.loads(host.ask("dead-letters", "--json", file=OPERATOR).stdout)))
    until(
        lambda: all(alert["delivered_at"] for alert in json.loads(host.ask("alerts", "--json", file=OPERATOR).stdout))
    )


def until(is_so: Callable[[], bool]) -> None:
    """Look until it is so."""
    assert any(is_so() for _ in looks()), f"expected it within {PATIENCE:g} s, found it is not so"


def give_up(host: Host, agent: Process) -> None:
    """Cancel a task while its Agent is paused, send a signal to another, and finish tasks without an owner."""
    agent.tell(19)
    for order in ("order-8", "order-9"):
        host.ask("submit", "shop:app", "fulfil", f'"{order}"', "--id", order, file=WEB)
    host.ask("signal", "order-8", "go", "1", file=WEB)
    host.ask("complete", "forged", "true", file=WEB)
    host.ask("cancel", "order-8", file=OPERATOR)
    agent.tell(18)


async def spoil(host: Host) -> None:
    """Put what is no event into the front end's queue, and an answer into that of a Scheduler that is over."""
    instances = json.loads(host.ask("instances", "--json", file=OPERATOR).stdout)
    [dead] = [each["id"] for each in instances if each["role"] == "scheduler" and not each["alive"]]
    connection = await client.connect(host.settings("shop-scheduler.env")["STEPWARD_TRANSPORT"], inbox_prefix=INBOX)
    try:
        context = connection.jetstream()
        await context.publish("stepward.shop.responses.web", b"junk")
        await context.publish(f"stepward.shop.queue.replies.{dead}", b"[]")
    finally:
        await connection.close()


def test_each_permission_at_nats_is_used(tmp_path: Path) -> None:
    log = tmp_path / "nats.log"
    with (
        postgres.running() as server,
        over_nats(server, tmp_path, more=f'\nlog_file: "{log}"\ntrace: true\n') as host,
    ):
        live(host, "STEPWARD_TRANSPORT")
        asyncio.run(spoil(host))
        listen(host, "STEPWARD_TRANSPORT", "order-6")
        until(lambda: "$JS.API.CONSUMER.LIST" in log.read_text())
        until(lambda: "$JS.API.STREAM.MSG.DELETE.STEPWARD_shop " in log.read_text())
    assert unexplained(unused(log.read_text()), RARE_AT_NATS) == {}


def unexplained(left: Mapping[str, Iterable[str]], rare: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """By login, the rights that nothing made use of and for which no reason is given."""
    found = {login: [each for each in rights if each not in rare.get(login, {})] for login, rights in left.items()}
    return {login: rights for login, rights in found.items() if rights}


def unused(log: str) -> dict[str, list[str]]:
    """By login, the permissions that nothing in the server's log made use of."""
    logins = dict(LOGIN.findall(log))
    used: dict[str, set[str]] = {}
    for connection, verb, subject in REQUEST.findall(log):
        used.setdefault(logins.get(connection, ""), set()).add(f"{'SUB' if verb == 'SUB' else 'PUB'} {subject}")
    return {
        login: [each for each in permissions if not any(_covers(each, subject) for subject in used.get(login, ()))]
        for login, permissions in guide.permitted().items()
    }


def _covers(permission: str, subject: str) -> bool:
    pattern = re.escape(permission).replace(r"\*", r"[^.]+").replace(">", ".+")
    return re.fullmatch(pattern, subject) is not None


def test_each_right_on_postgresql_is_used(tmp_path: Path) -> None:
    settings = {"log_statement": "all", "log_min_messages": "log", "log_line_prefix": "%u|"}
    with postgres.running(settings=settings) as server, beside(server, tmp_path) as host:
        live(host, "STEPWARD_STORE")
        log = (server.folder.parent / "data.log").read_text(errors="replace")
        left = asyncio.run(unused_rights(server, log))
        assert unexplained(left, RARE_ON_POSTGRESQL) == {}
        asyncio.run(server.execute("grant delete on stepward_shop.audit to shop_web", "shop"))
        wider = asyncio.run(unused_rights(server, log))
    assert unexplained(wider, RARE_ON_POSTGRESQL) == {"shop_web": ["delete on audit"]}


def test_a_statement_is_of_the_login_that_ran_it() -> None:
    log = (
        "shop_web|LOG:  execute a1: select 1\n\tfrom x\nshop_web|DETAIL:  Parameters: $1 = '7'\n"
        "|LOG:  checkpoint starting: time\nshop_agent|LOG:  statement: begin\n"
    )
    assert STATEMENT.findall(log) == [("shop_web", "select 1\n\tfrom x\n"), ("shop_agent", "begin\n")]


async def unused_rights(server: postgres.Server, log: str) -> dict[str, list[str]]:
    """By login, the rights without which none of the statements in the server's log would be refused."""
    ran: dict[str, set[str]] = {}
    for login, text in STATEMENT.findall(log):
        if login in LOGINS:
            ran.setdefault(login, set()).add(text.replace("\n\t", "\n"))
    connection = await asyncpg.connect(server.address("shop"))
    try:
        return {
            login: [right async for right in _unused(connection, login, sorted(ran[login]))] for login in sorted(ran)
        }
    finally:
        await connection.close()


async def _unused(
    connection: asyncpg.Connection[asyncpg.Record], login: str, statements: Sequence[str]
) -> AsyncIterator[str]:
    for table, privilege in await connection.fetch(GRANTED, login):
        about = [each for each in statements if table in each]
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(f"revoke {privilege} on stepward_shop.{table} from {login}; set local role {login}")
        if not [each for each in about if await _is_refused(connection, each)]:
            yield f"{privilege} on {table}"
        await transaction.rollback()


async def _is_refused(connection: asyncpg.Connection[asyncpg.Record], statement: str) -> bool:
    try:
        async with connection.transaction():
            await connection.execute(f"explain (generic_plan) {statement}")
    except asyncpg.InsufficientPrivilegeError:
        return True
    except asyncpg.PostgresError:
        return False
    return False
