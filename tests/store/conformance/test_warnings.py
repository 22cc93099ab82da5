from __future__ import annotations

from stepward.model.records import Alert
from stepward.store.contract import Store

DETAILS = b'{"queue":"agents.mail"}'


def refused(details: bytes = DETAILS) -> Alert:
    return Alert(kind="queue_refused", message="queue agents.mail: refused", details=details)


async def test_a_queue_has_one_open_alert_of_a_kind(store: Store) -> None:
    for details in (DETAILS, DETAILS, b'{"queue":"agents.bank"}'):
        await store.host.warn(refused(details))
    assert [alert.details for alert in await store.operators.alerts(9, open_only=True)] == [
        b'{"queue":"agents.bank"}',
        DETAILS,
    ]


async def test_a_warning_that_is_over_is_acknowledged_and_may_be_raised_again(store: Store) -> None:
    await store.host.warn(refused())
    await store.host.warn(refused(b'{"queue":"agents.bank"}'))
    await store.host.end_warning("queue_refused", DETAILS, "scheduler-1")
    await store.host.end_warning("queue_refused", DETAILS, "scheduler-1")
    (still_open,) = await store.operators.alerts(9, open_only=True)
    assert still_open.details == b'{"queue":"agents.bank"}'
    audits = [audit for audit in await store.operators.audits(None, 9) if audit.act == "acknowledge"]
    assert [audit.actor for audit in audits] == ["scheduler-1"]
    await store.host.warn(refused())
    assert len(await store.operators.alerts(9, open_only=True)) == 2
