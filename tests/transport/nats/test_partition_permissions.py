"""The permissions that docs/partitions.md gives to users of a NATS server, for each partition: enough, and no more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import nats
from tests.deploy import guide
from tests.transport.nats.test_permissions import beside, login_at
from tests.transport.nats.whole_shop import LOGINS
from tests.transport.partitioned_shop import PAGE, PartitionedShop

pytestmark = pytest.mark.servers

LISTS = re.compile(r'^# (\w+), (publish|subscribe)\n((?:".*"\n)+)', re.MULTILINE)
PARTITIONS = ("p1", "p2")


def documented() -> str:
    """The users of the other page, each with its lines for two partitions, and one that may do everything."""
    users = guide.users().replace("users: [", "users: [\n    { user: admin, password: admin }", 1)
    lists = LISTS.findall(PAGE)
    assert len(lists) == 6
    for login, verb, lines in lists:
        more = "".join(lines.replace("p2", partition) for partition in PARTITIONS)
        head, name, own = users.partition(f"user: {login},")
        before, kind, permissions = own.partition(f"{verb}: [")
        assert kind
        users = f"{head}{name}{before}{kind}\n{more}{permissions}"
    return users


@pytest.fixture
def node() -> Iterator[nats.NatsNode]:
    with nats.running(users=documented()) as node:
        yield node


async def test_the_documented_users_do_their_part_in_two_partitions(node: nats.NatsNode, tmp_path: Path) -> None:
    shop = PartitionedShop(lambda login: login_at(node, LOGINS[login]), login_at(node, LOGINS["admin"]), tmp_path)
    await shop.works()


@pytest.mark.parametrize(
    ("login", "subject"),
    [
        ("payments", "stepward.shop.p2.queue.agents.mail"),
        ("payments", "stepward.shop.submissions.p2=orders"),
        ("payments", "stepward.shop.p2.told"),
        ("payments", "$JS.API.CONSUMER.MSG.NEXT.STEPWARD_shop+p2.agents_mail"),
        ("payments", "$JS.API.STREAM.MSG.GET.STEPWARD_shop+p2"),
        ("submission", "stepward.shop.p2.queue.agents.payments"),
        ("submission", "stepward.shop.submissions.p2=others"),
        ("web", "stepward.shop.submissions.p2=orders"),
    ],
)
async def test_no_user_does_the_part_of_another_in_a_partition(node: nats.NatsNode, login: str, subject: str) -> None:
    async with beside(node, LOGINS[login]) as (connection, refused):
        await connection.publish(subject, b"[]")
        await connection.flush()
        assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()
