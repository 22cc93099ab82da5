"""Alerts as signed webhooks: one POST of a CloudEvent for each, to one receiver.

It uses the standard library's client in a thread: alerts are rare, and need no further dependency. Redirects are not
followed: they would bypass the check of the address.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import socket
import ssl
from collections.abc import Collection

from stepward.clock import Clock, SystemClock
from stepward.errors import AlertRefused
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute
from stepward.model.console_links import alert_link
from stepward.model.records import Alert
from stepward.observers.alert_event import cloud_event
from stepward.observers.webhook_address import Resolve, WebhookTarget, addresses_of, resolve, target_of
from stepward.observers.webhook_signature import key_of, signed_headers
from stepward.payload import encode

TIMEOUT = 10.0
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
EVENT_BYTES = 16 * 1024 * 1024
ANSWER_BYTES = 64 * 1024
READ_BYTES = 4096
INTERIM = rb"HTTP/1\.[01] 1[0-9]{2}[^\r\n]*\r\n(?:[^\r\n]+\r\n)*+\r\n"
FINAL = re.compile(rb"(?:" + INTERIM + rb")*+HTTP/1\.[01] ([2-9][0-9]{2})[ \r]")


class WebhookSink:
    """Posts alerts to one URL; any 2xx answer within ``timeout`` seconds means that the receiver has it.

    ``source`` names the app in the event, ``console_url`` is the address of the console, for the event's link.
    ``allow_http`` allows plain http to other hosts than this one; ``private_hosts`` names those that may have private
    addresses.
    """

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        name: str = "webhook",
        route: AlertRoute = EVERY_ALERT,
        source: str = "/stepward",
        console_url: str | None = None,
        timeout: float = TIMEOUT,
        allow_http: bool = False,
        private_hosts: Collection[str] = (),
        clock: Clock | None = None,
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        key_of(secret)
        self.name = name
        self.route = route
        self._console_url = console_url
        self._target = target_of(url)
        self.description = f"webhook {self._target}"
        self._secret = secret
        self._source = source
        self._timeout = timeout
        self._allow_http = allow_http
        self._private_hosts = {host.lower() for host in private_hosts}
        self._clock = clock or SystemClock()
        self._resolve = resolve
        self._tls = tls or ssl.create_default_context()

    def __repr__(self) -> str:
        return f"<WebhookSink {self._target}>"

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Post the news of the alert. Raises AlertRefused unless the receiver took it."""
        event = cloud_event(alert, news, self._source, alert_link(self._console_url, alert))
        body = encode(event, "alert", limit=EVENT_BYTES)
        headers = signed_headers(self._secret, event["id"], self._clock.wall(), body)
        exchange = Exchange(self._target, self._timeout, self._tls)
        try:
            async with asyncio.timeout(self._timeout):
                status = await asyncio.to_thread(self._post, exchange, body, headers)
        except TimeoutError:
            # The thread may still be reading from a receiver that sends a byte at a time.
            raise AlertRefused(f"{self._target}: expected an answer within {self._timeout:g} s, found none") from None
        except (OSError, http.client.HTTPException) as error:
            raise AlertRefused(f"{self._target}: expected an answer, found: {error or type(error).__name__}") from None
        finally:
            exchange.abort()
        _check_status(self._target, status)

    def _post(self, exchange: Exchange, body: bytes, headers: dict[str, str]) -> int:
        addresses = addresses_of(
            self._target, self._resolve, allow_http=self._allow_http, private_hosts=self._private_hosts
        )
        return exchange.post(addresses, body, headers | {"content-type": CONTENT_TYPE})


class Exchange:
    """One request and the status of its answer, in a thread; another thread may call ``abort``."""

    def __init__(self, target: WebhookTarget, timeout: float, tls: ssl.SSLContext) -> None:
        self._target = target
        self._timeout = timeout
        self._tls = tls
        self._socket: socket.socket | None = None
        self._aborted = False

    def post(self, addresses: list[str], body: bytes, headers: dict[str, str]) -> int:
        """The status of the answer; the rest is not read."""
        connection = http.client.HTTPConnection(self._target.host, self._target.port)
        try:
            connection.sock = self._connect(addresses)
            headers = {"host": self._target.authority, "user-agent": "stepward", **headers}
            connection.request("POST", self._target.path, body, headers)
            return _read_status(connection.sock)
        finally:
            connection.close()
            if self._socket is not None:
                self._socket.close()

    def abort(self) -> None:
        """End the connection, so that a thread that waits on it returns; harmless when it has ended."""
        self._aborted = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _connect(self, addresses: list[str]) -> socket.socket:
        self._socket = self._first_that_answers(addresses)
        if self._aborted:
            raise TimeoutError
        if not self._target.secure:
            return self._socket
        # The handshake is separate from the wrapping, so that ``abort`` reaches it.
        secured = self._tls.wrap_socket(self._socket, server_hostname=self._target.host, do_handshake_on_connect=False)
        self._socket = secured
        secured.do_handshake()
        return secured

    def _first_that_answers(self, addresses: list[str]) -> socket.socket:
        for address in addresses[:-1]:
            try:
                return socket.create_connection((address, self._target.port), self._timeout)
            except OSError:
                continue
        return socket.create_connection((addresses[-1], self._target.port), self._timeout)


def _read_status(opened: socket.socket) -> int:
    """The status of the final answer.

    http.client is not used for this: it skips interim answers without a bound and cannot be stopped, because a socket
    that was shut down still returns what arrived.
    """
    answer = b""
    while len(answer) < ANSWER_BYTES:
        part = opened.recv(READ_BYTES)
        if not part:
            raise http.client.RemoteDisconnected("the connection was closed before an HTTP answer")
        answer += part
        final = FINAL.match(answer)
        if final:
            return int(final[1])
    raise http.client.HTTPException(f"{ANSWER_BYTES:,} bytes that hold no HTTP answer")


def _check_status(target: WebhookTarget, status: int) -> None:
    if 200 <= status < 300:
        return
    hint = "; redirects are not followed, give the final URL" if 300 <= status < 400 else ""
    raise AlertRefused(f"{target}: expected an answer of 200 to 299, found {status}{hint}")
