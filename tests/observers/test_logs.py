"""Log lines: one line each, printable, at the level that its event deserves."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.events import Event, Observers
from stepward.model.alerts.alert_routing import AlertNews
from stepward.model.records import Alert
from stepward.observers import LogObserver, LogSink
from stepward.observers.logs import line, value_text


def test_an_event_is_one_line_of_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "stepward")
    Observers(LogObserver()).emit("task.processed", task="order-1", seconds=1.5, parent=None, note="two words")
    (record,) = caplog.records
    assert record.getMessage() == 'task.processed task=order-1 seconds=1.5 note="two words"'
    assert (record.name, record.levelno) == ("stepward.task", logging.INFO)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("task.error", logging.WARNING),
        ("alert.refused", logging.WARNING),
        ("alert.delivered", logging.INFO),
        ("loop.blocked", logging.WARNING),
        ("scheduler.step_stuck", logging.WARNING),
        ("task.hung", logging.WARNING),
        ("scheduler.broke", logging.WARNING),
        ("task.not_deterministic", logging.WARNING),
        ("transport.dead_letter", logging.WARNING),
        ("instance.fenced", logging.WARNING),
        ("store.unavailable", logging.WARNING),
        ("scheduler.fenced", logging.WARNING),
        ("transport.lost", logging.WARNING),
        ("transport.connected", logging.WARNING),
        ("agent.transport_failed", logging.DEBUG),
        ("scheduler.take_failed", logging.DEBUG),
        ("scheduler.publish_failed", logging.DEBUG),
        ("scheduler.settle_failed", logging.DEBUG),
        ("submission.queue_failed", logging.DEBUG),
        ("agent.heartbeat", logging.DEBUG),
        ("agent.breaker_opened", logging.WARNING),
        ("agent.close_failed", logging.WARNING),
        ("transport.broke", logging.WARNING),
        ("supervisor.forgave", logging.WARNING),
        ("clock.jumped", logging.WARNING),
        ("step.failed", logging.WARNING),
        ("step.gave_up", logging.WARNING),
        ("step.started", logging.DEBUG),
        ("task.submitted", logging.INFO),
        ("steps.judged", logging.INFO),
        ("step.completed", logging.DEBUG),
        ("odd", logging.INFO),
    ],
)
def test_the_name_gives_the_level(caplog: pytest.LogCaptureFixture, name: str, level: int) -> None:
    caplog.set_level(logging.DEBUG, "stepward")
    observe = LogObserver()
    for _ in range(2):
        observe(Event(name, {}))
    assert [record.levelno for record in caplog.records] == [level] * 2


def test_a_disabled_log_level_formats_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError("put into words")

    caplog.set_level(logging.INFO, "stepward")
    LogObserver()(Event("step.completed", {"output": Loud()}))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("order-1", "order-1"),
        ("payments.charge/1", "payments.charge/1"),
        ("", '""'),
        ("a=b", '"a=b"'),
        ('say "hi"', r'"say \"hi\""'),
        ("back\\slash", r'"back\\slash"'),
        ("one\ntwo\r", r'"one\ntwo\r"'),
        ("\x1b[31mred", r'"\x1b[31mred"'),
        ("\x9b31m", r'"\x9b31m"'),
        ("\u202egnp.exe", r'"\u202egnp.exe"'),
        ("a\u2028b", r'"a\u2028b"'),
        ("a\0b", r'"a\x00b"'),
        ("\ud800", r'"\ud800"'),
        ("Zoë", "Zoë"),
        (b'{"a":1}', r'"{\"a\":1}"'),
        (b"\xff", r'"\\xff"'),
        (True, "True"),
        (3, "3"),
    ],
)
def test_values_are_one_printable_word(value: object, text: str) -> None:
    assert value_text(value) == text


@given(st.text(st.characters(codec=None)))
def test_no_text_adds_a_line_or_moves_a_cursor(text: str) -> None:
    shown = line("task.error", [("message", text)])
    assert shown.isprintable()
    assert len(shown.splitlines()) == 1


def test_a_huge_value_is_cut() -> None:
    assert len(value_text("x" * 1_000_000)) < 1100


async def test_an_alert_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    alert = Alert(number=7, kind="task_error", task="uid-1", task_id="order-1", step="a/1", message="failed\n4 times")
    sink = LogSink()
    await sink.deliver(alert, AlertNews.RAISED)
    (record,) = caplog.records
    assert (record.name, record.levelno, sink.name) == ("stepward.alerts", logging.WARNING, "log")
    assert record.getMessage() == (
        r'alert number=7 kind=task_error severity=error task=order-1 step=a/1 message="failed\n4 times" details="{}"'
    )


async def test_the_end_of_an_alert_is_information(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stepward.alerts")
    alert = Alert(number=7, kind="undo_failed", task="uid-1", task_id="order-1", message="failed")
    await LogSink().deliver(alert, AlertNews.RESOLVED)
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage() == "alert.resolved number=7 kind=undo_failed severity=critical task=order-1"


async def test_an_alert_of_a_deleted_task_names_its_internal_id_as_such(caplog: pytest.LogCaptureFixture) -> None:
    await LogSink().deliver(Alert(number=7, kind="task_error", task="uid-1", message="failed"), AlertNews.RAISED)
    (record,) = caplog.records
    assert " task_uid=uid-1 " in record.getMessage()
    assert " task=" not in record.getMessage()


async def test_the_line_of_an_alert_links_to_the_page_of_its_task(caplog: pytest.LogCaptureFixture) -> None:
    sink = LogSink(console_url="https://console.example.com")
    await sink.deliver(Alert(number=7, kind="task_error", task_id="a/b 1", message="failed"), AlertNews.RAISED)
    await sink.deliver(Alert(number=8, kind="archive", message="full"), AlertNews.RAISED)
    links = [record.getMessage().partition(" link=")[2] for record in caplog.records]
    assert links == [
        '"https://console.example.com/tasks/a~b%201#cause"',
        "https://console.example.com/alerts#alert-8",
    ]


def test_a_failing_observer_stops_nothing() -> None:
    seen: list[str] = []

    def broken(event: Event) -> None:
        raise RuntimeError(event.name)

    Observers(broken, lambda event: seen.append(event.name)).emit("task.error")
    assert seen == ["task.error"]
