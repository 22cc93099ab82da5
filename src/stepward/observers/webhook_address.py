"""The allowed destinations of a webhook: its URL, and the addresses that its host has at this moment.

A name is resolved once and the connection goes to the checked address, so that a second answer of the name service
cannot lead elsewhere.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from stepward.errors import AlertRefused, SettingsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]

WRAPPED = tuple(ipaddress.IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
"""IPv6 networks whose last 32 bits are an IPv4 address: compatible, mapped, translated, NAT64."""
OF_THIS_HOST = (ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1"))
"""In the network of compatible addresses, but none of them. From Python 3.13 on ``is_loopback`` of a mapped address is
that of the IPv4 address within."""
PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.168.0.0/16", "198.18.0.0/15", "240.0.0.0/4", "::1/128", "64:ff9b:1::/48", "fc00::/7", "fec0::/10"),
    )
)
"""Networks of a host's own or an organisation's services."""
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
"""Metadata services of clouds outside the link-local range; the others are link-local."""
MOST_ADDRESSES = 8


class WebhookTarget(NamedTuple):
    """A checked URL in parts; ``path`` includes the query."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port in the form of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        # The path is left out: it often holds a token that identifies the receiver.
        return f"{'https' if self.secure else 'http'}://{self.authority}/…"


def target_of(url: str) -> WebhookTarget:
    """The parts of a webhook's URL. Raises SettingsError without repeating the URL, which may be secret."""
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
    return WebhookTarget(secure, parts.hostname, port if port is not None else (443 if secure else 80), path)


def addresses_of(
    target: WebhookTarget, resolve: Resolve, *, allow_http: bool, private_hosts: Collection[str] = ()
) -> list[str]:
    """The addresses to connect to, all checked. Raises AlertRefused.

    Private addresses are allowed for ``private_hosts`` only, and this host's own for a URL that names it.
    """
    is_private_allowed = target.host.lower() in private_hosts
    try:
        found = resolve(target.host, target.port)[:MOST_ADDRESSES]
    except (OSError, UnicodeError) as error:
        raise AlertRefused(f"{target}: expected a host name that resolves, found: {error}") from None
    for text in found:
        address = ipaddress.ip_address(text.partition("%")[0])
        for reached in (address, *_within(address)):
            _check(target, reached, is_private_allowed=is_private_allowed)
        _check_secure(target, address, allow_http=allow_http)
    if not found:
        raise AlertRefused(f"{target}: expected a host name that resolves, found no address")
    return found


def resolve(host: str, port: int) -> list[str]:
    """The addresses of ``host`` by the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _check(target: WebhookTarget, address: Address, *, is_private_allowed: bool) -> None:
    forbidden = address.is_link_local or address.is_multicast or address.is_unspecified or address in METADATA
    if forbidden:
        raise AlertRefused(f"{target}: expected a receiver's address, found {address}, which no webhook may reach")
    is_private = any(address in network for network in PRIVATE)
    if is_private and not is_private_allowed and not (address.is_loopback and _names_this_host(target)):
        raise AlertRefused(
            f"{target}: expected a public address, found {address}, which is private; name {target.host} in its "
            "private_hosts, or in webhook_private_hosts for webhook_url, if that is meant"
        )


def _check_secure(target: WebhookTarget, address: Address, *, allow_http: bool) -> None:
    is_here = any(reached.is_loopback for reached in (address, *_within(address)))
    if not target.secure and not allow_http and not is_here:
        raise AlertRefused(f"{target}: expected https, or http to this host, found http to {address}; use https")


def _within(address: Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses within an IPv6 one to which packets for it may be delivered."""
    if isinstance(address, ipaddress.IPv4Address) or address in OF_THIS_HOST:
        return []
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    wrapped = [last] if any(address in network for network in WRAPPED) else []
    return [*wrapped, *([address.sixtofour] if address.sixtofour else []), *(address.teredo or ())]


def _names_this_host(target: WebhookTarget) -> bool:
    try:
        return target.host.lower() == "localhost" or ipaddress.ip_address(target.host).is_loopback
    except ValueError:
        return False


def _refused(expected: str, found: str) -> SettingsError:
    return SettingsError(f"webhook_url: expected {expected}, found {found}; correct the URL")
