"""Signed posts (Standard Webhooks) to one receiver, whose address is checked at each.

They use the standard library's client in threads: it needs no further dependency, and connects to the address that was
checked. Each receiver has threads of its own, so that a slow one holds up no other. Redirects are not followed: they
would bypass that check.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import socket
import ssl
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from stepward.clock import Clock, SystemClock
from stepward.errors import AlertRefused
from stepward.observers.webhook_address import Resolve, WebhookTarget, addresses_of, resolve, target_of
from stepward.observers.webhook_signature import key_of, signed_headers

TIMEOUT = 10.0
MOST_POSTS = 8
"""Most posts to one receiver at the same time."""
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
ANSWER_BYTES = 64 * 1024
READ_BYTES = 4096
INTERIM = rb"HTTP/1\.[01] 1[0-9]{2}[^\r\n]*\r\n(?:[^\r\n]+\r\n)*+\r\n"
FINAL = re.compile(rb"(?:" + INTERIM + rb")*+HTTP/1\.[01] ([2-9][0-9]{2})[ \r]")


class SignedPosts:
    """Posts to one URL; any 2xx answer within ``timeout`` seconds means that the receiver has it.

    While a secret is replaced, ``previous`` is the one before, and each post carries a signature of both.
    ``allow_http`` allows plain http to other hosts than this one; ``private_hosts`` names those that may have private
    addresses. Raises SettingsError or Refused for an invalid URL or secret.
    """

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        previous: str | None = None,
        timeout: float = TIMEOUT,
        allow_http: bool = False,
        private_hosts: Collection[str] = (),
        clock: Clock | None = None,
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._secrets = [each for each in (secret, previous) if each is not None]
        for each in self._secrets:
            key_of(each)
        self.target = target_of(url)
        self._timeout = timeout
        self._allow_http = allow_http
        self._private_hosts = {host.lower() for host in private_hosts}
        self._clock = clock or SystemClock()
        self._resolve = resolve
        self._tls = tls or ssl.create_default_context()
        self._threads = ThreadPoolExecutor(MOST_POSTS, "stepward-webhook")

    async def post(self, id: str, body: bytes) -> None:
        """Post under an id, the same for each repetition. Raises AlertRefused unless the receiver took it."""
        headers = signed_headers(self._secrets, id, self._clock.wall(), body)
        exchange = Exchange(self.target, self._timeout, self._tls)
        try:
            async with asyncio.timeout(self._timeout):
                loop = asyncio.get_running_loop()
                status = await loop.run_in_executor(self._threads, self._exchanged, exchange, body, headers)
        except TimeoutError:
            # The thread may still be reading from a receiver that sends a byte at a time.
            raise AlertRefused(f"{self.target}: expected an answer within {self._timeout:g} s, found none") from None
        except (OSError, http.client.HTTPException) as error:
            raise AlertRefused(f"{self.target}: expected an answer, found: {error or type(error).__name__}") from None
        finally:
            exchange.abort()
        _check_status(self.target, status)

    def _exchanged(self, exchange: Exchange, body: bytes, headers: dict[str, str]) -> int:
        addresses = addresses_of(
            self.target, self._resolve, allow_http=self._allow_http, private_hosts=self._private_hosts
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
            if self._aborted:
                raise TimeoutError
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
    raise AlertRefused(f"{target}: expected an answer of 200 to 299, found {status}{hint}", status=status)
