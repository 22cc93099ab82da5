"""Static files of the pages, read once when the application is made: no request reads the file system."""

from __future__ import annotations

import mimetypes
from hashlib import sha256
from pathlib import Path
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from stepward.http.access.permissions import Permission

CACHED = "public, max-age=3600"


def static_routes(folder: Path, at: str = "/static") -> list[HTTPRouteHandler]:
    """A public route for each file of the folder, below ``at``; the sign-in page needs them."""
    return [_route(f"{at}/{path.name}", path) for path in sorted(folder.iterdir()) if path.is_file()]


def _route(address: str, path: Path) -> HTTPRouteHandler:
    body = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": CACHED}

    @get(address, permission=Permission.PUBLIC, include_in_schema=False, name=f"static:{path.name}")
    async def file(request: Request[Any, Any, Any]) -> Response[bytes]:
        if request.headers.get("if-none-match") == etag:
            return Response(b"", status_code=304, media_type=media_type, headers=headers)
        return Response(body, media_type=media_type, headers=headers)

    return file
