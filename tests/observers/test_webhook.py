"""Webhooks: what is sent, what counts as taken, and what never leaves."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from stepward.errors import AlertRefused, Refused, SettingsError
from stepward.model.alerts.alert_routing import AlertNews
from stepward.model.records import Alert
from stepward.observers import WebhookSink, verify
from tests.observers.receiver import Receiver, receiving

SECRET = "canary-secret-0123456789"
ALERT = Alert(
    number=7,
    at=1_700_000_000.25,
    kind="task_error",
    task="uid-1",
    task_id="order-1",
    step="payments.charge/1",
    message="payments.charge/1 did not finish within its complete-by 4 times",
    details=b'{"in_doubt":["payments.charge/1"]}',
)


class StoppedClock:
    def wall(self) -> float:
        return 1_700_000_100.9

    def boot(self) -> float:
        return 0.0

    def boot_id(self) -> str:
        return "boot"


def sink(receiver: Receiver, **options: Any) -> WebhookSink:
    return WebhookSink(receiver.url, SECRET, clock=StoppedClock(), **options)


async def test_an_alert_arrives_as_a_signed_cloud_event() -> None:
    async with receiving() as receiver:
        await sink(receiver, source="/shop").deliver(ALERT, AlertNews.RAISED)
    (got,) = receiver.received
    assert got.line == "POST /hooks/canary?a=1 HTTP/1.1"
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert json.loads(got.body) == {
        "specversion": "1.0",
        "id": "alert-7",
        "source": "/shop",
        "type": "dev.stepward.alert",
        "subject": "order-1",
        "time": "2023-11-14T22:13:20.250000+00:00",
        "datacontenttype": "application/json",
        "data": {
            "number": 7,
            "kind": "task_error",
            "severity": "error",
            "message": ALERT.message,
            "workflow": None,
            "task": "order-1",
            "uid": "uid-1",
            "step": "payments.charge/1",
            "link": None,
            "details": {"in_doubt": ["payments.charge/1"]},
        },
    }
    assert verify(SECRET, got.headers, got.body, 1_700_000_100) == "alert-7"
    with pytest.raises(Refused):
        verify(SECRET, got.headers, got.body.replace(b"order-1", b"order-2"), 1_700_000_100)


async def test_the_end_of_an_alert_arrives_under_an_id_of_its_own() -> None:
    async with receiving() as receiver:
        made = sink(receiver, console_url="https://console.example.com/ops")
        await made.deliver(replace(ALERT, resolved_at=1_700_000_050.0, workflow="fulfil"), AlertNews.RESOLVED)
    (got,) = receiver.received
    event = json.loads(got.body)
    assert (event["id"], event["type"]) == ("alert-7-resolved", "dev.stepward.alert.resolved")
    assert event["time"] == "2023-11-14T22:14:10+00:00"
    assert event["data"]["raised_at"] == "2023-11-14T22:13:20.250000+00:00"
    assert event["data"]["link"] == "https://console.example.com/ops/tasks/order-1#cause"
    assert event["data"]["workflow"] == "fulfil"
    assert verify(SECRET, got.headers, got.body, 1_700_000_100) == "alert-7-resolved"


async def test_an_alert_is_signed_with_the_time_of_its_sending() -> None:
    """However long its receiver was away: who checks the signature takes nothing that is old."""
    async with receiving() as receiver:
        await sink(receiver).deliver(replace(ALERT, at=1_699_000_000.0), AlertNews.RAISED)
    (got,) = receiver.received
    assert got.headers["webhook-timestamp"] == "1700000100"
    assert verify(SECRET, got.headers, got.body, 1_700_000_100) == "alert-7"


async def test_an_alert_that_is_offered_again_has_the_same_id() -> None:
    async with receiving() as receiver:
        for _ in range(2):
            await sink(receiver).deliver(ALERT, AlertNews.RAISED)
    assert [got.headers["webhook-id"] for got in receiver.received] == ["alert-7", "alert-7"]


async def test_an_alert_without_a_task_or_with_damaged_details_is_sent_too() -> None:
    async with receiving() as receiver:
        await sink(receiver).deliver(
            Alert(number=1, kind="unserved", message="no Scheduler", details=b"\xff{"), AlertNews.RAISED
        )
    event = json.loads(receiver.received[0].body)
    assert "subject" not in event
    assert event["data"]["details"] == "\ufffd{"


@pytest.mark.parametrize("status", ["200 OK", "202 Accepted", "299 Odd"])
async def test_any_answer_from_200_to_299_means_taken(status: str) -> None:
    async with receiving() as receiver:
        receiver.answer = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
        await sink(receiver).deliver(ALERT, AlertNews.RAISED)


@pytest.mark.parametrize("status", ["300 Odd", "400 Bad", "404 None", "429 Later", "500 Broken", "503 Busy"])
async def test_any_other_answer_means_refused(status: str) -> None:
    async with receiving() as receiver:
        receiver.answer = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
        with pytest.raises(AlertRefused, match=f"expected an answer of 200 to 299, found {status[:3]}") as refused:
            await sink(receiver).deliver(ALERT, AlertNews.RAISED)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    async with receiving() as receiver, receiving() as other:
        receiver.answer = f"HTTP/1.1 {status} Moved\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n".encode()
        with pytest.raises(AlertRefused, match="redirects are not followed"):
            await sink(receiver).deliver(ALERT, AlertNews.RAISED)
        assert other.received == []


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 100_000])
async def test_an_answer_that_is_no_http_is_a_refusal(answer: bytes) -> None:
    async with receiving() as receiver:
        receiver.answer = answer
        with pytest.raises(AlertRefused, match="expected an answer, found: "):
            await sink(receiver).deliver(ALERT, AlertNews.RAISED)


async def test_a_receiver_that_does_not_finish_its_answer_is_left() -> None:
    async with receiving() as receiver:
        receiver.silent = True
        with pytest.raises(AlertRefused, match=r"expected an answer within 0.2 s, found none"):
            await sink(receiver, timeout=0.2).deliver(ALERT, AlertNews.RAISED)
        await receiver.hung_up.wait()


async def test_a_receiver_that_keeps_the_line_busy_is_left() -> None:
    async with receiving() as receiver:
        receiver.answer = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
        receiver.endless = True
        with pytest.raises(AlertRefused, match="65,536 bytes that hold no HTTP answer"):
            await sink(receiver).deliver(ALERT, AlertNews.RAISED)
        await receiver.hung_up.wait()


async def test_interim_answers_are_passed_over() -> None:
    async with receiving() as receiver:
        receiver.answer = (
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\n\r\n"
        )
        await sink(receiver).deliver(ALERT, AlertNews.RAISED)


async def test_a_name_that_takes_too_long_to_resolve_is_left_and_nothing_sent_later() -> None:
    resolved = threading.Event()

    def slow(host: str, port: int) -> list[str]:
        resolved.wait()
        return ["127.0.0.1"]

    async with receiving() as receiver:
        with pytest.raises(AlertRefused, match=r"expected an answer within 0.1 s"):
            await sink(receiver, timeout=0.1, resolve=slow).deliver(ALERT, AlertNews.RAISED)
        resolved.set()
        await receiver.hung_up.wait()
    assert receiver.received == []


async def test_a_receiver_that_hangs_holds_up_no_other() -> None:
    loop, asked, resolved = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))

    def slow(host: str, port: int) -> list[str]:
        loop.call_soon_threadsafe(asked.set)
        resolved.wait()
        return ["127.0.0.1"]

    async with receiving() as receiver, asyncio.TaskGroup() as group:
        group.create_task(sink(receiver, resolve=slow).deliver(ALERT, AlertNews.RAISED))
        await asked.wait()
        try:
            await sink(receiver, timeout=2.0).deliver(ALERT, AlertNews.RAISED)
        finally:
            resolved.set()
    assert len(receiver.received) == 2


async def test_a_closed_port_is_a_refusal() -> None:
    async with receiving() as receiver:
        pass
    with pytest.raises(AlertRefused, match="expected an answer, found: "):
        await sink(receiver).deliver(ALERT, AlertNews.RAISED)


async def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    async with receiving() as receiver:
        both = sink(receiver, resolve=lambda host, port: ["127.0.0.9", "127.0.0.1"])
        await both.deliver(ALERT, AlertNews.RAISED)
    assert len(receiver.received) == 1


async def test_a_name_is_resolved_once_and_its_checked_address_used() -> None:
    answers = [["127.0.0.1", "127.0.0.9"], ["169.254.169.254"]]
    async with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "rebound.example.com")
        allowed = {"rebound.example.com"}
        await WebhookSink(url, SECRET, resolve=lambda host, port: answers.pop(0), private_hosts=allowed).deliver(
            ALERT, AlertNews.RAISED
        )
        assert receiver.received[0].headers["host"] == f"rebound.example.com:{receiver.port}"
        with pytest.raises(AlertRefused, match="no webhook may reach"):
            await WebhookSink(url, SECRET, resolve=lambda host, port: answers.pop(0), private_hosts=allowed).deliver(
                ALERT, AlertNews.RAISED
            )
    assert answers == []
    assert len(receiver.received) == 1


async def test_nothing_is_sent_to_a_forbidden_address() -> None:
    async with receiving() as receiver:
        with pytest.raises(AlertRefused, match=r"found 10.0.0.7, which is private"):
            await sink(receiver, resolve=lambda host, port: ["10.0.0.7"]).deliver(ALERT, AlertNews.RAISED)
    assert receiver.received == []


async def test_https_asks_for_a_certificate_of_the_name_and_not_of_the_address() -> None:
    asked: list[str] = []

    class Recording(ssl.SSLContext):
        def wrap_socket(self, sock: socket.socket, *args: Any, **options: Any) -> ssl.SSLSocket:
            asked.append(options["server_hostname"])
            raise ssl.SSLCertVerificationError("self-signed certificate")

    async with receiving() as receiver:
        url = f"https://hooks.example.com:{receiver.port}/"
        tls = Recording(ssl.PROTOCOL_TLS_CLIENT)
        with pytest.raises(AlertRefused, match="self-signed certificate"):
            await WebhookSink(
                url,
                SECRET,
                resolve=lambda host, port: ["127.0.0.1"],
                tls=tls,
                private_hosts=["HOOKS.example.com"],
            ).deliver(ALERT, AlertNews.RAISED)
        await receiver.hung_up.wait()
    assert asked == ["hooks.example.com"]
    assert receiver.received == []


async def test_a_receiver_that_never_begins_tls_receives_nothing() -> None:
    async with receiving() as receiver:
        url = receiver.url.replace("http:", "https:")
        with pytest.raises(AlertRefused, match=r"expected an answer within 0.2 s"):
            await WebhookSink(url, SECRET, timeout=0.2).deliver(ALERT, AlertNews.RAISED)
        await receiver.hung_up.wait()
    assert receiver.received == []


def test_certificates_are_checked_by_default() -> None:
    made = WebhookSink("https://hooks.example.com/", SECRET)
    tls: ssl.SSLContext = vars(vars(made)["_posts"])["_tls"]
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_sink_is_refused_when_made_and_not_when_needed() -> None:
    with pytest.raises(SettingsError, match=r"^webhook_url: expected"):
        WebhookSink("ftp://example.com/", SECRET)
    with pytest.raises(Refused, match=r"^webhook_secret: expected"):
        WebhookSink("https://example.com/", "short")


def test_its_repr_shows_no_secret() -> None:
    made = WebhookSink("https://hooks.example.com/canary", SECRET)
    assert repr(made) == "<WebhookSink https://hooks.example.com/…>"
