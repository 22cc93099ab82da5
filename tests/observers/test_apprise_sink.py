"""Alerts through Apprise: a real mail server and a real HTTP receiver take them."""

from __future__ import annotations

import email
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from msgspec.structs import replace

from stepward.errors import AlertRefused, SettingsError
from stepward.model.alerts.alert_routing import AlertNews
from stepward.model.records import Alert
from stepward.observers.apprise_sink import AppriseSink, body_of
from stepward.observers.declared_sinks import sinks_of
from stepward.settings import Settings
from tests.observers.receiver import receiving

# Apprise loads all of its services, one of which imports a module that Python deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
ALERT = Alert(
    number=7,
    at=1_700_000_000.0,
    kind="undo_failed",
    task="uid-1",
    task_id="order-1",
    step="payments.charge/1",
    message="refund <b>failed</b>",
)


class Mailbox:
    """Implements the handler of aiosmtpd."""

    def __init__(self) -> None:
        self.mails: list[Message] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.mails.append(email.message_from_bytes(envelope.content))
        return "250 OK"


@contextmanager
def mail_server() -> Iterator[tuple[Mailbox, int]]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield mailbox, port
    finally:
        controller.stop()


async def test_an_alert_comes_by_mail_with_its_severity_and_its_page() -> None:
    with mail_server() as (mailbox, port):
        url = f"mailto://127.0.0.1:{port}?from=stepward@example.org&to=ops@example.org&mode=insecure"
        sink = AppriseSink(url, app="shop", console_url="https://console.example.com")
        await sink.deliver(ALERT, AlertNews.RAISED)
        await sink.deliver(replace(ALERT, resolved_at=1_700_000_060.0), AlertNews.RESOLVED)
    raised, resolved = mailbox.mails
    assert raised["Subject"] == "[shop] critical: undo failed, order-1"
    assert raised["To"] == "ops@example.org"
    text = raised.get_payload(decode=True)
    assert isinstance(text, bytes)
    assert text.decode().splitlines()[:3] == [
        "refund <b>failed</b>",
        "Step: payments.charge/1",
        "Alert 7: https://console.example.com/tasks/order-1#cause",
    ]
    assert resolved["Subject"] == "[shop] resolved: undo failed, order-1"


@pytest.mark.parametrize(
    ("kind", "news", "said"),
    [
        ("undo_failed", AlertNews.RAISED, "failure"),
        ("mixed_code", AlertNews.RAISED, "warning"),
        ("undo_failed", AlertNews.RESOLVED, "success"),
    ],
)
async def test_a_service_learns_how_urgent_an_alert_is(kind: str, news: AlertNews, said: str) -> None:
    async with receiving() as receiver:
        sink = AppriseSink(f"json://127.0.0.1:{receiver.port}/hook")
        await sink.deliver(replace(ALERT, kind=kind), news)
    (got,) = receiver.received
    assert json.loads(got.body)["type"] == said


async def test_an_alert_that_the_service_refuses_is_refused_without_its_url(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with receiving() as receiver:
        receiver.answer = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
        sink = AppriseSink(f"json://user:canary@127.0.0.1:{receiver.port}/canary")
        with pytest.raises(AlertRefused, match=r"^apprise json://…: expected it to take the message") as refused:
            await sink.deliver(ALERT, AlertNews.RAISED)
    assert "canary" not in str(refused.value) + sink.description + caplog.text


def test_a_url_that_apprise_does_not_know_is_refused_without_being_shown() -> None:
    sinks = {"pager": {"type": "apprise", "url": "canary"}}
    with pytest.raises(
        SettingsError, match=r"^alert_sinks: sink 'pager': expected a URL that Apprise knows"
    ) as refused:
        sinks_of(Settings(alert_sinks=sinks))  # type: ignore[arg-type]  # read by the setting's reader
    assert "canary" not in str(refused.value)


def test_a_long_message_is_cut() -> None:
    assert len(body_of(replace(ALERT, message="x" * 100_000), AlertNews.RAISED, None)) < 2_100
