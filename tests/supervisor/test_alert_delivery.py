"""Alerts on their way: every sink, at least once, ever later after a refusal."""

from __future__ import annotations

from tests.supervisor.conftest import Bench, FakeSink


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


async def test_another_process_offers_again_what_was_not_taken_by_all(bench: Bench) -> None:
    log = FakeSink("log")
    bench.store.told("task_error")
    await bench.supervisor(log, FakeSink("webhook", refuses=lambda alert: True)).once()
    bench.store.time += 1
    await bench.supervisor(log, FakeSink("webhook")).once()
    assert log.took == [1, 1]
    assert bench.store.delivered() == [1]
