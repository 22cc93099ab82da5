"""The client of an HTTP Agent: requests carry the current step, stay with one service and leave nothing behind."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.request import Request

import httpx

from stepward.agent.http.bodies import ACCEPTED, bounded
from stepward.errors import Unrecoverable
from stepward.model.current_step import CURRENT

LEAST_TIMEOUT = 0.001
CONNECTIONS_PER_CALL = 4
"""Most connections that one call of an operation has on average; what is beyond waits until one is free."""
BODY_BYTES = "stepward.body_bytes"
"""The request extension that bounds the body of the answer."""
UNSENDABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class StepClient(httpx.AsyncClient):
    """A client whose requests carry the current step's headers and end within its complete-by.

    They go to the service of ``base_url`` alone, answers are bounded unless they are streamed, cookies are not kept,
    and neither proxies nor credentials are taken from the environment. A request that cannot be sent is Unrecoverable.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float,
        headers: Mapping[str, str],
        body_bytes: int,
        transport: httpx.AsyncBaseTransport,
    ) -> None:
        self._body_bytes = body_bytes
        super().__init__(
            base_url=base_url,
            timeout=httpx.Timeout(timeout, pool=None),
            headers={"Accept-Encoding": ACCEPTED, **headers},
            cookies=CookieJar(_KeepNone()),
            trust_env=False,
            transport=_OneService(transport, httpx.URL(base_url), body_bytes),
        )

    def build_request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Request:
        """As httpx does, then the step's part; headers that the caller set are left alone."""
        try:
            request = super().build_request(method, url, **options)
        except Exception as error:  # nothing is sent here: what cannot be built is not the service's fault
            raise _unsendable(method, str(url), f"{type(error).__name__}: {error}") from error
        if not _is_same_origin(request.url, self.base_url):
            raise _elsewhere(request.url, self.base_url, maybe_done=False)
        step = CURRENT.get()
        if step is not None:
            for name, value in step.headers().items():
                request.headers.setdefault(name, value)
            left = max(LEAST_TIMEOUT, step.remaining)
            waits = request.extensions.get("timeout", {})
            request.extensions["timeout"] = {
                kind: left if wait is None else min(wait, left) for kind, wait in waits.items()
            }
        for field, content in request.headers.raw:
            if UNSENDABLE.search(content):
                raise _unsendable(method, str(url), f"a control character in the header {field.decode()}")
        return request

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """As httpx does; the body is read within the client's bound unless it is streamed."""
        if not stream:
            request.extensions[BODY_BYTES] = self._body_bytes
        return await super().send(request, stream=stream, **options)


def transport_of(concurrency: int, tls: ssl.SSLContext | None, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """Connections for so many calls at a time; the environment is not asked for proxies."""
    most = concurrency * CONNECTIONS_PER_CALL
    return httpx.AsyncHTTPTransport(
        verify=tls or True,
        trust_env=False,
        proxy=proxy,
        limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
    )


class _OneService(httpx.AsyncBaseTransport):
    """Sends requests to one service alone: no redirect that is followed carries the Agent's credentials elsewhere."""

    def __init__(self, inner: httpx.AsyncBaseTransport, service: httpx.URL, body_bytes: int) -> None:
        self._inner = inner
        self._service = service
        self._body_bytes = body_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the transport below, its body bounded."""
        if not _is_same_origin(request.url, self._service):
            # Paths were checked before, so this follows a redirect; the request that led to it may have acted.
            raise _elsewhere(request.url, self._service, maybe_done=True)
        response = await self._inner.handle_async_request(request)
        limit = request.extensions.get(BODY_BYTES)
        return bounded(response, request, limit if response.is_success else self._body_bytes)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self._inner.aclose()


class _KeepNone(DefaultCookiePolicy):
    """Calls of an Agent belong to different customers: no cookie of one goes with another."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Never."""
        return False


def _is_same_origin(url: httpx.URL, service: httpx.URL) -> bool:
    return (url.scheme, url.host, url.port) == (service.scheme, service.host, service.port)


def _elsewhere(url: httpx.URL, service: httpx.URL, *, maybe_done: bool) -> Unrecoverable:
    return Unrecoverable(
        f"HttpAgent: expected a request to {_origin(service)}, found one to {_origin(url)}, which must not get the "
        "Agent's credentials; use a client of your own for it",
        maybe_done=maybe_done,
    )


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.host[:100]}{'' if url.port is None else f':{url.port}'}"


def _unsendable(method: str, url: str, found: str) -> Unrecoverable:
    return Unrecoverable(f"{method[:20]} {url[:200]!r}: expected a request that can be sent, found {found[:300]}")
