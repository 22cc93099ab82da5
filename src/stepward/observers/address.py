"""Where a webhook may go: its URL, and the addresses that its host has at this moment.

A name is resolved once and the connection goes to the address that was checked, so that no second answer
of the name service leads elsewhere.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from stepward.errors import AlertRefused, SettingsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]

NAT64 = ipaddress.ip_network("64:ff9b::/96")
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
"""Metadata services of clouds outside the link-local range; the others are link-local."""
MOST_ADDRESSES = 8


class Target(NamedTuple):
    """A checked URL, taken apart; ``path`` holds the query too."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        # Receivers are often told apart by a token in the path, so the path is left out.
        return f"{'https' if self.secure else 'http'}://{self.authority}/…"


def target_of(url: str) -> Target:
    """The parts of a webhook's URL; raises SettingsError, which does not repeat the URL: it may be secret."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _refused("a URL of printable ASCII characters", "others")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refused("https://HOST/PATH", str(error)) from None
    if parts.scheme not in ("https", "http"):
        raise _refused("https:// (or http:// on this host)", parts.scheme or "no scheme")
    if not parts.hostname or parts.username is not None or parts.password is not None or parts.fragment:
        raise _refused("https://HOST/PATH without a user, password or fragment", "another form")
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(secure, parts.hostname, port if port is not None else (443 if secure else 80), path)


def addresses_of(target: Target, resolve: Resolve, *, allow_http: bool) -> list[str]:
    """The addresses to connect to, all of them checked; raises AlertRefused."""
    try:
        found = resolve(target.host, target.port)[:MOST_ADDRESSES]
    except (OSError, UnicodeError) as error:
        raise AlertRefused(f"{target}: expected a host name that resolves, found: {error}") from None
    for text in found:
        _check(target, _plain(ipaddress.ip_address(text.partition("%")[0])), allow_http=allow_http)
    if not found:
        raise AlertRefused(f"{target}: expected a host name that resolves, found no address")
    return found


def resolve(host: str, port: int) -> list[str]:
    """The addresses of ``host`` by the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _check(target: Target, address: Address, *, allow_http: bool) -> None:
    forbidden = address.is_link_local or address.is_multicast or address.is_unspecified or address in METADATA
    if forbidden:
        raise AlertRefused(f"{target}: expected a receiver's address, found {address}, which no webhook may reach")
    if not target.secure and not allow_http and not address.is_loopback:
        raise AlertRefused(f"{target}: expected https, or http to this host, found http to {address}; use https")


def _plain(address: Address) -> Address:
    """The IPv4 address within an IPv6 one that only wraps it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _refused(expected: str, found: str) -> SettingsError:
    return SettingsError(f"webhook_url: expected {expected}, found {found}; correct the URL")
