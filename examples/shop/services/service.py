"""What a service declares: the one thing it does, and the one thing that takes it back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

ServiceDetails = dict[str, Any]
Rule = Callable[[sqlite3.Connection, ServiceDetails], None]

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
PositiveCount = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
Quantity = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class ServiceOrderBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a request that does something for an order; each service adds its own fields."""

    order_id: ShortText


class UndoBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request that undoes: what is undone stands in the ledger, so other fields are ignored."""

    order_id: ShortText


def no_rule(_connection: sqlite3.Connection, _details: ServiceDetails) -> None:
    """The rule of a service that never refuses and holds nothing but its ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One remote service.

    `action` answers with a `reference` (a field such as `charge_id`) that names its effect. `take` and
    `give_back` are the business rule; they run inside the transaction of the effect, and `take` refuses by
    raising a `Problem` before it has written anything. `prepare` runs once when the ledger is opened.
    """

    name: str
    action: str
    body: type[ServiceOrderBody]
    reference: str
    undo: str | None = None
    prepare: Callable[[sqlite3.Connection], None] = lambda _connection: None
    take: Rule = no_rule
    give_back: Rule = no_rule

    @property
    def actions(self) -> tuple[str, ...]:
        """The names that may stand in the path of a POST."""
        return (self.action,) if self.undo is None else (self.action, self.undo)
