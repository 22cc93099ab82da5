"""A login that lacks any of the permissions of docs/deployment.md: a start, an alert or its caller's error says so."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from servers import nats
from stepward import Client
from stepward.host.queues import unserved_queue_alerts
from tests.deploy import guide
from tests.tiers import sampled
from tests.transport.nats.whole_shop import WholeShop

pytestmark = pytest.mark.servers

SECONDS = 60
KEPT = "submission SUB stepward.shop.told"
EACH = [f"{login} {permission}" for login, found in guide.permitted().items() for permission in found]


def without(login: str, verb: str, subject: str) -> str:
    """The page's users, of which one lacks that permission, and one more that may do everything."""
    users = guide.users().replace("users: [", "users: [\n    { user: admin, password: admin }", 1)
    head, name, own = users.partition(f"user: {login},")
    before, kind, permissions = own.partition("publish: [" if verb == "PUB" else "subscribe: [")
    assert f'"{subject}"' in permissions.partition("]")[0]
    # An empty list would allow everything.
    lacking = re.sub(rf'"{re.escape(subject)}",?', '"nothing"\n', permissions, count=1)
    return f"{head}{name}{before}{kind}{lacking}"


def test_what_is_left_out_is_one_permission() -> None:
    narrow = without("payments", "SUB", "stepward.shop.told")
    assert narrow.count('"stepward.shop.told"') == guide.users().count('"stepward.shop.told"') - 1
    assert '"nothing"\n "_INBOX.shop.payments.>"' in narrow


@pytest.mark.parametrize("permission", sampled(EACH, KEPT))
async def test_a_missing_permission_is_reported(
    permission: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unserved_queue_alerts, "LOOK_SECONDS", 1.0)
    login, verb, subject = permission.split()
    beginning = re.split(r"[*>]", subject.lower())[0]
    with nats.running(users=without(login, verb, subject)) as node:
        async with AsyncExitStack() as stack, asyncio.timeout(SECONDS):
            shop = WholeShop(node, tmp_path)
            orders = await shop.open(stack)
            while not any("permissions violation" in each and beginning in each for each in await heard(shop, orders)):
                continue


async def heard(shop: WholeShop, orders: Client) -> list[str]:
    """The refusals reported since the last look, within a moment."""
    alerts = [alert.message for alert in await orders.alerts(100) if alert.kind == "queue_refused"]
    if alerts and shop.said.empty():
        return alerts
    try:
        async with asyncio.timeout(0.2):
            return [*alerts, await shop.said.get()]
    except TimeoutError:
        return alerts
