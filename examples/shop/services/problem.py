"""Errors as RFC 9457 problem details."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


class Problem(Exception):
    """A refusal: the answer is `status` with a problem+json body of one line each for title and detail."""

    def __init__(
        self, status: int, title: str, detail: str | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(title if detail is None else f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """The problem+json document."""
        document: dict[str, str | int] = {"title": self.title, "status": self.status}
        if self.detail is not None:
            document["detail"] = self.detail
        return msgspec.json.encode(document)
