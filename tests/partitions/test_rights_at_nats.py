"""The rights that docs/partitions.md gives to users of a NATS server for each partition: they are enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import nats
from stepward import Accepted, Agent, App, Message, Queues, workflow
from stepward.store.contract import Transaction
from tests.deploy import guide
from tests.partitions.test_at_brokers import completed, ids_of

pytestmark = pytest.mark.servers

OF_PARTITION = re.compile(r"stepward\.shop\.(told|queue)|STEPWARD_shop(?!\+(submissions|responses))|_INBOX\.shop\.")
OF_PART = "submissions_orders"
PUT = '"stepward.shop.submissions.orders", "stepward.shop.submissions.p1=orders", "stepward.shop.submissions.p2=orders"'


def permitted_with_partitions() -> str:
    """The page's users, each with what it may do for the application once more for each partition."""
    users = re.sub(r'"[^"]+"', lambda found: ", ".join(_widened(found[0])), guide.users())
    head, name, own = users.partition("user: submission,")
    return head + name + own.replace("publish: [", f"publish: [\n {PUT}\n", 1)


def _widened(permission: str) -> list[str]:
    if OF_PART in permission:
        return [permission, *(permission.replace("_orders", f"_{name}=orders") for name in ("p1", "p2"))]
    if not OF_PARTITION.search(permission):
        return [permission]
    return [permission, *(_of_partition(permission, name) for name in ("p1", "p2"))]


def _of_partition(permission: str, name: str) -> str:
    undotted = permission.replace("STEPWARD_shop", f"STEPWARD_shop+{name}").replace(
        "_INBOX.shop", f"_INBOX.shop+{name}"
    )
    return undotted.replace("stepward.shop.", f"stepward.shop.{name}.")


@pytest.fixture
def node() -> Iterator[nats.NatsNode]:
    with nats.running(users=permitted_with_partitions()) as node:
        yield node


def application(node: nats.NatsNode, login: str, folder: Path) -> App:
    payments = Agent("payments")

    @payments.operation(complete_by="20s")
    async def charge(order: str) -> str:
        return f"charge-{order}"

    @workflow
    async def fulfil(order: str) -> str:
        return await charge(order)

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(fulfil, message.read(str))

    stores = [f"sqlite:///{folder / name}.db" for name in ("a", "b")]
    app = App("shop", workflows=[fulfil], agents=[payments], store=stores, transport=at(node, login), poll=0.05)
    app.submission("orders", accept=accept)
    return app


def at(node: nats.NatsNode, login: str) -> str:
    return node.address.replace("nats://", f"nats://{login}@")


async def test_users_with_the_rights_of_each_partition_do_their_part(node: nats.NatsNode, tmp_path: Path) -> None:
    scheduler = application(node, "scheduler:SECRET-1", tmp_path)
    agents = application(node, "payments:SECRET-2", tmp_path)
    submission = application(node, "submission:SECRET-3", tmp_path)
    ids = [*ids_of(1, 3), *ids_of(2, 3)]
    async with (
        scheduler.running(agents=False, submission=False),
        agents.running(scheduler=False, supervisor=False, submission=False),
        submission.running(scheduler=False, supervisor=False, agents=False),
        Queues(at(node, "web:SECRET-4"), app="shop") as web,
        scheduler.client() as client,
    ):
        for id in ids:
            await web.post("orders", id, id=id, reply_to="replies.shop.web")
        await completed(web, "replies.shop.web", ids)
        assert {task.id for task in await client.tasks(where="state = 'processed'")} == set(ids)
        assert [alert.message for alert in await client.alerts(10)] == []
