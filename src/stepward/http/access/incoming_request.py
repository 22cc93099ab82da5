"""The parts of a request that the choke point checks before any route is matched."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from stepward.http.exception_handlers import HttpRefusal

PATH_BYTES = 2048
QUERY_BYTES = 8192
HEADER_COUNT = 100
HEADER_BYTES = 16 * 1024
SAME_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for requests from this site's own pages, or of an address that a person typed."""
ODD = re.compile(r"//|/\.{1,2}(/|$)|.+/$|[\x00-\x20\x7f\\]")
"""Characters that no path of the application has, and that servers and proxies may read differently."""


def is_within(address: str, network: str) -> bool:
    """Whether an address is in a network."""
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


class IncomingRequest:
    """The parts of a request that access is decided by."""

    def __init__(self, scope: Any) -> None:
        path, base = str(scope["path"]), str(scope.get("root_path", ""))
        below = bool(base) and (path == base or path.startswith(f"{base}/"))
        self.base = base
        """The path at which the application is mounted."""
        self.path = (path[len(base) :] or "/") if below else path
        """The path below ``base``."""
        self.method = str(scope["method"])
        self.query = str(scope["query_string"], "latin-1")
        self.address = str((scope.get("client") or ("unknown",))[0])
        self.is_https = scope.get("scheme") == "https"
        self._raw_path = bytes(scope.get("raw_path") or b"")
        self._headers = {str(name, "latin-1").lower(): str(value, "latin-1") for name, value in scope["headers"]}
        self.host = self._headers.get("host", "").lower()

    @property
    def wants_page(self) -> bool:
        """Whether the request is a browser's for a page, rather than a program's for data."""
        is_api = self.path.startswith("/api/")
        return self.method == "GET" and not is_api and "text/html" in self._headers.get("accept", "")

    def apply_proxy(self, proxy: str) -> None:
        """Takes the client's address and scheme from the proxy's headers. Raises HttpRefusal (403) for a request
        that did not come through the proxy over https."""
        if not is_within(self.address, proxy):
            raise HttpRefusal(403, "address: expected requests through the proxy, found one past it")
        if self._headers.get("x-forwarded-proto", "").rpartition(",")[2].strip() != "https":
            raise HttpRefusal(403, "X-Forwarded-Proto: expected https, found another; have the proxy set it")
        self.is_https = True
        self.address = self._headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or self.address

    def header(self, name: str) -> str | None:
        """The header of that name, which is given in lower case."""
        return self._headers.get(name)

    def cookie(self, name: str) -> str | None:
        """The cookie of that name."""
        for part in self._headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None

    def check_size(self) -> None:
        """Raises HttpRefusal for a path, query or headers that are too long, or a path that proxies may read
        differently."""
        if len(self.path) > PATH_BYTES or len(self.query) > QUERY_BYTES:
            raise HttpRefusal(
                414, f"address: expected at most {PATH_BYTES:,} bytes of path and {QUERY_BYTES:,} of query"
            )
        size = sum(len(name) + len(value) for name, value in self._headers.items())
        if len(self._headers) > HEADER_COUNT or size > HEADER_BYTES:
            raise HttpRefusal(431, f"headers: expected at most {HEADER_COUNT} of {HEADER_BYTES:,} bytes, found more")
        if ODD.search(self.path) or b"%2f" in self._raw_path.lower():
            raise HttpRefusal(
                404, "path: expected one of this API's, found an odd one; write ~ for the / of a task's id"
            )

    def check_origin(self, *, needed: bool) -> None:
        """Raises HttpRefusal (403) for a request that a page of another site made a browser send.

        With ``needed``, a request without Sec-Fetch-Site and Origin is refused too: browsers send one of them with
        every act.
        """
        site, origin = self._headers.get("sec-fetch-site"), self._headers.get("origin")
        foreign = needed and site is None and origin is None
        foreign |= site is not None and site not in SAME_SITE
        foreign |= origin is not None and urlsplit(origin).netloc.lower() != self.host
        if foreign:
            raise HttpRefusal(403, f"Origin: expected this server's own pages, found {str(origin)[:100]}")
