"""A request as the choke point sees it, before any route is looked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from litestar.types import Scope

from stepward.http.problems import HttpRefusal

PATH_BYTES = 2048
QUERY_BYTES = 8192
HEADER_COUNT = 100
SAME_SITE = frozenset({"same-origin", "none"})
"""What browsers say in Sec-Fetch-Site of a request of this site's own pages, or one that a person typed."""
ODD = re.compile(r"//|/\.{1,2}(/|$)|.+/$|[\x00-\x20\x7f\\]")
"""What no path of ours has; servers and proxies differ in how they read it."""


class IncomingRequest:
    """The parts of a request that decide whether it is let through."""

    def __init__(
        self, method: str, path: str, raw_path: bytes, query: bytes, headers: Mapping[str, str], address: str
    ) -> None:
        self.method = method
        self.path = path
        self._raw_path = raw_path
        self._query = query
        self._headers = headers
        self.address = address
        self.host = headers.get("host", "").lower()

    @classmethod
    def of(cls, scope: Scope) -> IncomingRequest:
        """The request of an ASGI scope; the path is the one below the place where the application is mounted."""
        found: Any = scope
        path, root = str(found["path"]), str(found.get("root_path", ""))
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in found["headers"]}
        address = str((found.get("client") or ("unknown",))[0])
        return cls(found["method"], path, found.get("raw_path") or b"", found["query_string"], headers, address)

    def header(self, name: str) -> str | None:
        """The header of that name, in small letters."""
        return self._headers.get(name)

    def cookie(self, name: str) -> str | None:
        """The cookie of that name."""
        for part in self._headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None

    def check_size(self) -> None:
        """Raises HttpRefusal for a path or a query that is too long or reads differently elsewhere."""
        if len(self.path) > PATH_BYTES or len(self._query) > QUERY_BYTES:
            raise HttpRefusal(
                414, f"address: expected at most {PATH_BYTES:,} bytes of path and {QUERY_BYTES:,} of query"
            )
        if len(self._headers) > HEADER_COUNT:
            raise HttpRefusal(431, f"headers: expected at most {HEADER_COUNT}, found {len(self._headers)}")
        if ODD.search(self.path) or b"%2f" in self._raw_path.lower():
            raise HttpRefusal(
                404, "path: expected one of this API's, found an odd one; write ~ for the / of a task's id"
            )

    def check_origin(self, *, needed: bool) -> None:
        """Raises HttpRefusal for a request that a page of another site made a browser send.

        With ``needed``, what does not say where it comes from is refused too: browsers say it of every act.
        """
        site, origin = self._headers.get("sec-fetch-site"), self._headers.get("origin")
        foreign = needed and site is None and origin is None
        foreign |= site is not None and site not in SAME_SITE
        foreign |= origin is not None and urlsplit(origin).netloc.lower() != self.host
        if foreign:
            raise HttpRefusal(403, f"Origin: expected this server's own pages, found {str(origin)[:100]}")
