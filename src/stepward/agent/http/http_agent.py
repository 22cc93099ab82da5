"""An Agent of an HTTP service: requests carry the step's key, trace and deadline; answers become outcomes."""

from __future__ import annotations

import ssl
from typing import Any

from stepward.agent.declaration import Agent
from stepward.agent.http.answers import SAFE, result
from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError, ServiceUnavailable
from stepward.model.current_step import CURRENT
from stepward.policies import CircuitBreaker, Retry

try:
    import httpx
except ImportError as error:
    raise ImportError("HttpAgent: expected the package httpx, found none; run: pip install stepward[http]") from error

from stepward.agent.http.client import StepClient, transport_of

NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)
BODY_BYTES = 16 * 1024 * 1024
"""Most bytes of an answer, unpacked."""


class HttpAgent(Agent):
    """An Agent whose operations call one HTTP service.

    ``client`` is an ``httpx.AsyncClient`` on ``base_url``; ``get``, ``post``, ``put``, ``patch``, ``delete``
    and ``request`` return the answer's JSON, of at most ``body_bytes``. ``timeout`` bounds each wait of a request, the
    step's complete-by all of it. ``tls`` holds other authorities than the usual, or a client certificate; a ``proxy``
    is used only if it is given. ``transport`` is httpx's own, for tests.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        retry: Retry = Retry(),
        breaker: CircuitBreaker = CircuitBreaker(),
        concurrency: int = 64,
        max_in_flight: int | None = None,
        rate: tuple[int, Duration] | str | None = None,
        timeout: Duration = "30s",
        headers: dict[str, str] | None = None,
        body_bytes: int = BODY_BYTES,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            name, retry=retry, breaker=breaker, concurrency=concurrency, rate=rate, max_in_flight=max_in_flight
        )
        _check_url(name, base_url)
        if not isinstance(body_bytes, int) or body_bytes < 1:
            raise DeclarationError(f"HttpAgent {name!r}: expected body_bytes of at least 1, found {body_bytes!r:.50}")
        self.base_url = base_url
        self._timeout = seconds(timeout, f"timeout of HttpAgent {name!r}")
        self._headers = headers or {}
        self._body_bytes = body_bytes
        self._tls = tls
        self._proxy = proxy
        self._transport = transport
        self._client: StepClient | None = None

    @property
    def client(self) -> httpx.AsyncClient:
        """The client; opened when first asked for, closed when the Agent's runner ends."""
        if self._client is None or self._client.is_closed:
            self._client = StepClient(
                self.base_url,
                timeout=self._timeout,
                headers=self._headers,
                body_bytes=self._body_bytes,
                transport=self._transport or transport_of(self.concurrency, self._tls, self._proxy),
            )
        return self._client

    async def request(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of the answer, None if it is empty; ``options`` are those of httpx.

        Raises ServiceUnavailable for what may pass, Unrecoverable for what will not.
        """
        what = f"{method} {self.name}:{path}"
        try:
            response = await self.client.request(method, path, **options)
        except httpx.RequestError as error:
            raise ServiceUnavailable(
                f"{what}: expected an answer, found {type(error).__name__} {error}".rstrip(),
                maybe_done=not isinstance(error, NOT_SENT),
            ) from error
        return result(
            what, response.status_code, response.headers, response.content, _now(), is_safe=method.upper() in SAFE
        )

    async def get(self, path: str, **options: Any) -> Any:
        """``request`` with GET."""
        return await self.request("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Any:
        """``request`` with POST."""
        return await self.request("POST", path, **options)

    async def put(self, path: str, **options: Any) -> Any:
        """``request`` with PUT."""
        return await self.request("PUT", path, **options)

    async def patch(self, path: str, **options: Any) -> Any:
        """``request`` with PATCH."""
        return await self.request("PATCH", path, **options)

    async def delete(self, path: str, **options: Any) -> Any:
        """``request`` with DELETE."""
        return await self.request("DELETE", path, **options)

    async def close(self) -> None:
        """Close the client's connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _check_url(name: str, base_url: str) -> None:
    try:
        is_url = base_url.startswith(("http://", "https://")) and bool(httpx.URL(base_url).host)
    except (AttributeError, TypeError, httpx.InvalidURL):
        is_url = False
    if not is_url:
        raise DeclarationError(
            f"HttpAgent {name!r}: expected base_url to begin with http:// or https:// and a host, found "
            f"{base_url!r:.200}"
        )


def _now() -> float | None:
    step = CURRENT.get()
    return step.complete_by.timestamp() - step.remaining if step is not None else None
