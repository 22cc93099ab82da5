"""No right of docs/deployment.md is more than its login needs: each is used in the life of a shop, or is said here."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

import asyncpg
import nats as client
import pytest

from servers import postgres
from tests.cli.processes import Process
from tests.deploy import guide
from tests.deploy.host import Host, survive_a_death, try_it
from tests.deploy.layouts import OPERATOR, WEB, begun, beside, listen, over_nats

pytestmark = pytest.mark.faults

REQUEST = re.compile(r"cid:(\d+) .*<<- \[(PUB|HPUB|SUB) ([^\s\]]+)")
LOGIN = re.compile(r"cid:(\d+) .*_INBOX\.shop\.(\w+)\.")
STATEMENT = re.compile(r"^(shop_\w+)\|.*?LOG: {2}(?:statement|execute \S+): (.*?)(?=^\S*\|)", re.MULTILINE | re.DOTALL)
RARE_AT_NATS = {
    "scheduler": {"PUB stepward.shop.told": "tells Agents that workflow code has stopped waiting for a step"},
    "payments": {
        "PUB stepward.shop.queue.agents.payments": "gives back what came with other requests, and was not begun"
    },
    "web": {
        "PUB $JS.API.STREAM.MSG.DELETE.STEPWARD_shop+responses": "deletes an event settled before those in front of it"
    },
}
VERBS = ("select", "insert", "update", "delete")
OF_QUEUES = {
    "insert on dead_letter": "a request or reply that cannot be read",
    "select on dead_letter": "the second of them in a queue, as they are counted",
    "select on alert": "an alert about a queue",
    "insert on alert": "an alert about a queue",
    "update on alert": "such an alert again, or its end",
    "insert on audit": "an alert that this process acknowledges when its cause is gone",
    "select on audit": "the chain of the audit",
}
OF_SIGNALS = {
    "insert on signal_seen": "a signal that comes with an id",
    "select on signal_seen": "a signal that comes with an id",
}
OF_KEYS = {
    **{f"{verb} on submission_key": "a submission under a rule for its key" for verb in VERBS},
    "insert on joined_submission": "a submission that joins a task",
    "select on joined_submission": "a submission that joins a task",
}
OF_LIMITS = {
    **{f"{verb} on flow_limit": "a limit that is declared, or that an operator sets" for verb in VERBS},
    **{f"{verb} on task_permit": "a task of a workflow with a limit" for verb in VERBS},
    **{f"{verb} on rate_bucket": "a task of a workflow with a rate" for verb in VERBS},
}
OF_SLOTS = {f"{verb} on agent_slot": "an Agent with a limit over all instances" for verb in VERBS}
RARE_ON_POSTGRESQL: dict[str, dict[str, str]] = {
    "shop_scheduler": {
        **OF_QUEUES,
        **OF_KEYS,
        **OF_LIMITS,
        **OF_SIGNALS,
        "delete on step": "a step that goes with the run before it",
        "delete on signal_seen": "more ids of signals than a task keeps",
        "insert on inbox": "what is asked of a child, and told a parent",
        "delete on inbox": "a signal that a task takes",
        "select on live_value": "a value that a task publishes again",
        "insert on live_value": "a value that a task publishes",
        "update on live_value": "a value that a task publishes again",
        "select on stream_value": "a value that a task streams",
        "insert on stream_value": "a value that a task streams",
        "select on update_request": "an update that a task answers",
        "insert on update_request": "an update that a task is asked for",
        "update on update_request": "an update that a task answers",
        "delete on update_request": "an answer that is older than a day",
        "insert on agent": "an Agent that was never served",
        "update on agent": "a breaker that opens",
        "insert on schedule": "an application with recurring tasks",
        "update on schedule": "an application with recurring tasks",
        "insert on meta": "a store without an identity",
        "insert on task": "a child",
    },
    "shop_agent": {
        **OF_QUEUES,
        **OF_LIMITS,
        **OF_SLOTS,
        "update on agent": "a breaker that opens",
        "insert on meta": "a store without an identity",
    },
    "shop_submission": {
        **OF_QUEUES,
        **OF_KEYS,
        "insert on schedule": "an application with recurring tasks",
        "update on schedule": "an application with recurring tasks",
        "insert on meta": "a store without an identity",
    },
    "shop_supervisor": {
        **OF_SLOTS,
        "select on search": "a batch whose filter names a label or an attribute",
        "update on batch": "a batch that goes on",
        "insert on alert_sink": "a Supervisor that begins to lead",
        "insert on webhook": "a Supervisor that has webhooks",
        "update on webhook": "a webhook that took an event",
        "select on webhook_refusal": "an event that a webhook refused",
        "insert on webhook_refusal": "an event that a webhook refused",
        "update on webhook_refusal": "an event that a webhook refused",
        "delete on webhook_refusal": "an event that a webhook refused",
        "select on webhook": "a Supervisor that has webhooks",
        "delete on webhook": "a webhook that is no longer declared",
        "insert on dead_letter": "an event that a webhook refused for three days",
        "update on audit": "the details of an act on a task that is erased",
        "select on submission_key": "a task that retention deletes",
        "delete on submission_key": "a task that retention deletes",
        "select on joined_submission": "a task that retention deletes",
        "delete on joined_submission": "a task that retention deletes",
        "insert on meta": "an outage, after which leases get a grace",
        "update on meta": "an outage, after which leases get a grace",
        "delete on meta": "an outage, after which leases get a grace",
        "insert on inbox": "a task past its own deadline",
        "delete on inbox": "a task that retention deletes",
        "select on workflow": "a task that no Scheduler serves",
        "select on agent": "a step that no Agent serves",
        "select on inbox": "a task that retention deletes",
        "select on signal_seen": "a task that retention deletes",
        "delete on signal_seen": "a task that retention deletes",
        "delete on task": "a task that retention deletes",
        "select on live_value": "a task that retention deletes",
        "delete on live_value": "a task that retention deletes",
        "select on stream_value": "a task that retention deletes",
        "delete on stream_value": "a task that retention deletes",
        "select on update_request": "a task that retention deletes",
        "delete on update_request": "a task that retention deletes",
        "delete on audit": "an entry that retention deletes",
        "delete on alert": "an acknowledged alert that retention deletes",
        "delete on alert_receipt": "an acknowledged alert that retention deletes",
        "insert on task": "a recurring task",
        "update on schedule": "a recurring task",
        "insert on alert": "a task that no Scheduler serves",
    },
    "shop_web": {
        **OF_SIGNALS,
        **OF_KEYS,
        **{f"{verb} on task_permit": "a submission that replaces a task" for verb in VERBS},
        "select on live_value": "a value that a reader asks for",
        "select on stream_value": "a stream that a reader asks for",
        "select on update_request": "an update that a task is asked for",
        "insert on update_request": "an update that a task is asked for",
        "select on alert": "more refused completions than are audited",
        "insert on alert": "more refused completions than are audited",
        "update on alert": "more refused completions than are audited",
        "select on workflow": "a workflow that is submitted by its name alone",
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
    """Post what no submission accepts, and have it tried again, in vain."""
    host.ask("post", "shop:app", "orders", "7", "--id", "order-7", file=WEB)
    while host.ask("dead-letters", "put-back", "1", file=OPERATOR).returncode:
        continue
    while not json.loads(host.ask("dead-letters", "--json", file=OPERATOR).stdout):
        continue


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
        while "$JS.API.CONSUMER.LIST" not in log.read_text():
            host.ask("instances", file=OPERATOR)
        while "$JS.API.STREAM.MSG.DELETE.STEPWARD_shop " not in log.read_text():
            host.ask("instances", file=OPERATOR)
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
