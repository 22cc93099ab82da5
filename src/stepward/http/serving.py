"""Serving the application by uvicorn, and the refusal to serve it where anybody could reach it."""

from __future__ import annotations

import ipaddress

import uvicorn
from msgspec import Struct

from stepward.errors import SettingsError
from stepward.http.asgi import AsgiApplication

HEADER_BYTES = 16 * 1024
"""Most bytes of a request's line and headers."""
CONNECTIONS = 2_000
"""Connections beyond which requests are answered 503."""
KEEP_ALIVE_SECONDS = 5
DRAIN_SECONDS = 5
"""How long answers under way may take once the server is told to end; streams are cut off then."""


class ListenAddress(Struct, frozen=True, kw_only=True):
    """Where the server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this host reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"


def check_address(address: ListenAddress) -> None:
    """Raises SettingsError for an address that others than this host reach."""
    if not address.is_loopback:
        raise SettingsError(f"console: expected an address of loopback, found {address.host!r}; listen on 127.0.0.1")


def serve(application: AsgiApplication, address: ListenAddress) -> None:
    """Serve until SIGTERM or SIGINT."""
    uvicorn.Server(
        uvicorn.Config(
            application,
            host=address.host,
            port=address.port,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws="none",
            h11_max_incomplete_event_size=HEADER_BYTES,
            http="h11",
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
    ).run()
