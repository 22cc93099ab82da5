"""From where an application may be reached, and how it is known there."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names under which a browser reaches a console of its own host. Any other name may be an attacker's, whose DNS points
here: that is how a page of another site would get at it."""


class AccessRules(Struct, frozen=True, kw_only=True):
    """How an application lets requests in."""

    local_admin: bool = False
    """Whoever reaches it under a name of loopback is the admin ``local``: only for what listens on loopback alone."""
    proxy: str | None = None
    """The address (or network) of the proxy that ends TLS; what does not come through it over https is refused."""
    url: str | None = None
    """The address at which browsers reach it; requests under another host are refused."""

    def accepts_host(self, host: str) -> bool:
        """Whether a request may name that host (and port)."""
        if self.local_admin:
            return _name_of(host) in LOOPBACK_NAMES
        return self.url is None or host == urlsplit(self.url).netloc.lower()


def _name_of(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
