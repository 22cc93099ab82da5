"""A call: one request to do or undo something, read strictly from headers and body."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec

from examples.shop.services.problem import Problem
from examples.shop.services.service import Service, ServiceDetails, ServiceOrderBody, UndoBody

LONGEST_KEY = 500

UtcInstant = Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """One request under its idempotency key; `undoes` is the key of what an undoing action takes back."""

    key: str
    action: str
    order_id: str
    details: ServiceDetails
    undoes: str | None
    complete_by: datetime | None

    def fingerprint(self) -> str:
        """What must be the same in every delivery of one key."""
        content = [self.action, self.order_id, self.details, self.undoes]
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    def refuse_if_late(self, now: datetime) -> None:
        """Raise 408 when the caller has no more use for the effect."""
        if self.complete_by is not None and self.complete_by <= now:
            raise Problem(408, "too late", f"this was to be complete by {self.complete_by.isoformat()}")


def read_call(service: Service, action: str, headers: Mapping[str, str], body: bytes) -> ServiceCall:
    """The call that a request makes of `service`; raises a `Problem` of 400 or 404."""
    if action not in service.actions:
        raise Problem(404, "no such action", f"{service.name} knows {', '.join(service.actions)}")
    is_undo = action == service.undo
    order = _read_body(UndoBody if is_undo else service.body, body)
    details = msgspec.structs.asdict(order)
    del details["order_id"]
    return ServiceCall(
        key=_read_key(headers, "Idempotency-Key"),
        action=action,
        order_id=order.order_id,
        details=details,
        undoes=_read_key(headers, "Stepward-Undoes") if is_undo else None,
        complete_by=_read_complete_by(headers),
    )


def _read_key(headers: Mapping[str, str], name: str) -> str:
    # The draft standard writes a key as a quoted string, most callers write it bare: both mean the same key.
    key = headers.get(name, "").strip().removeprefix('"').removesuffix('"')
    if not 0 < len(key) <= LONGEST_KEY:
        raise Problem(400, f"{name} missing", f"send the header {name} with 1 to {LONGEST_KEY} characters")
    return key


def _read_body(kind: type[ServiceOrderBody] | type[UndoBody], body: bytes) -> ServiceOrderBody | UndoBody:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Problem(400, "malformed body", str(error)) from error


def _read_complete_by(headers: Mapping[str, str]) -> datetime | None:
    value = headers.get("Stepward-Complete-By")
    try:
        return None if value is None else msgspec.convert(value, UtcInstant)
    except msgspec.ValidationError as error:
        raise Problem(400, "malformed Stepward-Complete-By", str(error)) from error
