"""The addresses from which an application accepts requests, and the names under which it is reached."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names under which a browser reaches a console of its own host. Any other name may be an attacker's that resolves
to loopback (DNS rebinding), and would let a page of another site reach the console."""


class AccessRules(Struct, frozen=True, kw_only=True):
    """The conditions under which an application accepts requests."""

    local_admin: bool = False
    """Whether requests under a name of loopback are the admin ``local``: only for a server that listens on loopback
    only."""
    local_viewer: bool = False
    """Whether requests without a credential are the viewer ``assistant``, who is shown no payloads: only within a
    process whose user could read the store itself."""
    two_person: bool = False
    """Whether undo, cancel and mark-done of a task are proposed, and carried out when another principal confirms."""
    proxy: str | None = None
    """The address (or network) of the proxy that ends TLS; requests that do not come through it over https are
    refused."""
    url: str | None = None
    """The address at which browsers reach the application; requests under another host are refused."""

    def accepts_host(self, host: str) -> bool:
        """Whether requests with that host (and port) are accepted."""
        if self.local_admin:
            return _name_of(host) in LOOPBACK_NAMES
        return self.url is None or host == urlsplit(self.url).netloc.lower()


def _name_of(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
