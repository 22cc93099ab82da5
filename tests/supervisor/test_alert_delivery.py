"""Alerts on their way: every sink, at least once, ever later after a refusal."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.model.alerts.alert_routing import AlertRoute
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert
from stepward.settings.sink_settings import Severity
from tests.supervisor.conftest import Bench, FakeSink, beside


async def test_an_alert_is_delivered_when_every_sink_took_it(bench: Bench) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook")
    numbers = [bench.store.told("task_error") for _ in range(3)]
    report = await bench.supervisor(log, webhook).once()
    assert log.took == webhook.took == numbers == bench.store.delivered()
    assert (report.delivered, report.refused) == (3, 0)


async def test_without_a_sink_alerts_are_left_to_others(bench: Bench) -> None:
    bench.store.told("task_error")
    report = await bench.supervisor().once()
    assert (report.delivered, bench.store.delivered()) == (0, [])


async def test_an_alert_refused_by_one_sink_stays_undelivered(bench: Bench) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook", refuses=lambda alert: True)
    bench.store.told("task_error")
    report = await bench.supervisor(log, webhook).once()
    assert (report.delivered, report.refused, bench.store.delivered()) == (0, 1, [])
    refused = next(event for event in bench.told if event.name == "alert.refused")
    assert refused.fields == {"number": 1, "sink": "webhook", "tries": 1, "error": "receiver is down"}


async def test_a_refused_alert_is_offered_with_backoff_to_the_refusing_sink_only(bench: Bench) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook", refuses=lambda alert: True)
    bench.store.told("task_error")
    supervisor = bench.supervisor(log, webhook)
    waits = []
    for _ in range(11):
        await supervisor.once()
        waits.append(bench.store.next_tries[1] - bench.store.time)
        await supervisor.once()
        bench.store.time = bench.store.next_tries[1]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert log.took == [1]
    assert webhook.asked == [1] * 11
    webhook.refuses = lambda alert: False
    await supervisor.once()
    assert bench.store.delivered() == [1]


async def test_a_sink_that_is_down_is_asked_once_a_run_and_hides_no_alert_from_the_others(
    bench: Bench,
) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook", refuses=lambda alert: True)
    for _ in range(5):
        bench.store.told("task_error")
    await bench.supervisor(log, webhook).once()
    assert log.took == [1, 2, 3, 4, 5]
    assert webhook.asked == [1]


async def test_an_alert_that_a_sink_will_never_take_does_not_stand_in_the_way(bench: Bench) -> None:
    webhook = FakeSink("webhook", refuses=lambda alert: alert.number == 1)
    for _ in range(3):
        bench.store.told("task_error")
    supervisor = bench.supervisor(webhook)
    await supervisor.once()
    bench.store.time += 1
    await supervisor.once()
    assert bench.store.delivered() == [2, 3]


async def test_two_sinks_that_refuse_one_alert_count_as_one_try(bench: Bench) -> None:
    sinks = [FakeSink(name, refuses=lambda alert: True) for name in ("mail", "webhook")]
    bench.store.told("task_error")
    report = await bench.supervisor(*sinks).once()
    assert report.refused == 1
    assert bench.store.alerts[1].tries == 1


async def test_deliveries_are_remembered_while_other_alerts_come_and_go(bench: Bench) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook", refuses=lambda alert: alert.number == 1)
    supervisor = bench.supervisor(log, webhook)
    for _ in range(3):
        bench.store.told("task_error")
        await supervisor.once()
    bench.store.time += 1
    await supervisor.once()
    assert log.took == [1, 2, 3]
    assert webhook.asked == [1, 2, 3, 1]


async def test_another_process_offers_an_alert_to_those_that_have_not_taken_it(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.told("task_error")
    await bench.supervisor(log, FakeSink("webhook", refuses=lambda alert: True)).once()
    bench.store.time += 1
    await bench.supervisor(log, FakeSink("webhook")).once()
    assert log.took == [1]
    assert bench.store.delivered() == [1]


async def test_a_sink_receives_an_alert_and_then_its_end(bench: Bench) -> None:
    log, webhook = FakeSink("log"), FakeSink("webhook", refuses=lambda alert: True)
    bench.store.told("task_error")
    supervisor = bench.supervisor(log, webhook)
    await supervisor.once()
    bench.store.resolve(1)
    webhook.refuses = lambda alert: False
    bench.store.time += 1
    await supervisor.once()
    assert (log.took, log.resolved, webhook.took, webhook.resolved) == ([1], [1], [1], [1])
    assert bench.store.delivered() == [1]
    assert bench.names().count("alert.resolved") == 1


async def test_an_alert_that_is_resolved_while_it_is_delivered_stays_due(bench: Bench) -> None:
    def refuses(alert: Alert) -> bool:
        bench.store.resolve(1)
        return False

    log = FakeSink("log", refuses=refuses)
    bench.store.told("task_error")
    await bench.supervisor(log).turn()
    await beside()
    assert log.asked == [1, 1]
    assert (log.took, log.resolved, bench.store.delivered()) == ([1], [1], [1])


async def test_a_sink_gets_the_alerts_of_its_severity_and_workflows(bench: Bench) -> None:
    all_, urgent = FakeSink("all"), FakeSink("urgent", route=AlertRoute(severity=Severity.CRITICAL))
    pay = FakeSink("pay", route=AlertRoute(workflows=("pay*", "refund")))
    kinds = ("task_error", "undo_failed", "mixed_code", "task_error", "unserved")
    for kind in kinds:
        bench.store.told(kind)
    bench.store.change(4, workflow="payments")
    bench.store.change(5, details=b'{"workflow":"refund","version":"1"}')
    await bench.supervisor(all_, urgent, pay).once()
    assert (all_.took, urgent.took, pay.took) == ([1, 2, 3, 4, 5], [2], [4, 5])
    assert bench.store.delivered() == [1, 2, 3, 4, 5]


async def test_a_sink_that_refuses_for_a_week_gets_no_more_of_that_alert(bench: Bench) -> None:
    webhook = FakeSink("webhook", refuses=lambda alert: True)
    bench.store.told("task_error")
    supervisor = bench.supervisor(webhook)
    await supervisor.once()
    bench.store.time += 7 * 86_400
    await supervisor.once()
    assert bench.store.delivered() == []
    bench.store.time += 301
    await supervisor.once()
    assert bench.names().count("alert.given_up") == 1
    bench.store.resolve(1)
    await supervisor.once()
    assert (len(webhook.asked), bench.store.delivered()) == (3, [1])


async def test_alerts_behind_a_refused_one_wait_as_long_and_are_offered_before_it(bench: Bench) -> None:
    webhook = FakeSink("webhook", refuses=lambda alert: True)
    for _ in range(3):
        bench.store.told("task_error")
    supervisor = bench.supervisor(webhook)
    await supervisor.once()
    await supervisor.once()
    bench.store.time += 1
    webhook.refuses = lambda alert: alert.number == 1
    await supervisor.once()
    assert webhook.asked == [1, 2, 3, 1]
    assert bench.store.delivered() == [2, 3]


def silence(until: float, kind: str = "task_error", **fields: Any) -> AlertSilence:
    return AlertSilence(kind=kind, until=until, set_at=1000.0, **fields)


async def test_no_sink_gets_a_silent_kind_until_the_silence_ends_by_itself(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.silences = [silence(1600.0)]
    bench.store.told("task_error")
    bench.store.told("in_doubt")
    supervisor = bench.supervisor(log)
    await supervisor.once()
    assert (log.took, bench.store.delivered(), bench.store.next_tries[1]) == ([2], [2], 1600.0)
    bench.store.time = 1600.0
    await supervisor.once()
    assert log.took == [2, 1]


async def test_a_silence_of_a_workflow_leaves_alerts_of_others_to_the_sinks(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.silences = [silence(1600.0, workflow="fulfil")]
    for workflow in ("fulfil", "greet", None):
        number = bench.store.told("task_error")
        bench.store.alerts[number] = msgspec.structs.replace(bench.store.alerts[number], workflow=workflow)
    await bench.supervisor(log).once()
    assert log.took == [2, 3]


async def test_no_sink_gets_what_was_over_while_it_was_silent(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.silences = [silence(1600.0)]
    bench.store.told("task_error")
    supervisor = bench.supervisor(log)
    await supervisor.once()
    bench.store.time = 1300.0
    bench.store.resolve(1)
    bench.store.alerts[1] = msgspec.structs.replace(bench.store.alerts[1], acknowledged_at=1300.0)
    await supervisor.once()
    bench.store.time = 1600.0
    await supervisor.once()
    assert (log.took, log.resolved, bench.store.delivered()) == ([], [], [1])


async def test_the_end_of_an_alert_that_a_sink_has_waits_for_the_end_of_a_silence(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.told("task_error")
    supervisor = bench.supervisor(log)
    await supervisor.once()
    bench.store.silences = [silence(1600.0)]
    bench.store.resolve(1)
    await supervisor.once()
    assert (log.took, log.resolved) == ([1], [])
    bench.store.time = 1600.0
    await supervisor.once()
    assert (log.took, log.resolved) == ([1], [1])
