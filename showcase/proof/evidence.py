"""What the proof is given: what was ordered, and what is there to be judged; and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from examples.orders.database import OrderState
from showcase.proof.books import OrderBooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An order as it was placed, and the state in which it has to end.

    `goods` says how many of each product, each of them one line of the order. `asked_again` names the services that
    must have been called more than once for one and the same thing.
    """

    order_id: str
    goods: Mapping[str, int]
    amount_cents: int
    ends: OrderState = OrderState.PROCESSED
    asked_again: tuple[str, ...] = ()

    @property
    def is_fulfilled(self) -> bool:
        """Whether the customer gets the goods."""
        return self.ends is OrderState.PROCESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """A process that was killed, and the orders that it was working on."""

    killed: str
    held: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """The primary of the database died: the orders that were acknowledged by then, and those on the standby since."""

    acknowledged: frozenset[str]
    standby: Mapping[str, OrderState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A server of the broker was lost, with these orders on the way."""

    lost: str
    held: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transit:
    """The messages at the broker, as an observer saw them.

    `submitted` are the orders that were posted, `seen` the number of messages of each kind, without redelivered ones:
    `submission`, `request`, `reply` and `event`.
    """

    broker: str
    submitted: frozenset[str]
    seen: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardOrder:
    """A status event as the storefront received it."""

    sequence: int
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence to judge.

    `forms` says how often a form of each order was accepted by the storefront, `states` is from the orders database,
    `tasks` has the id of each task, ``heard`` the events of each order in its order, and `dead_letters` the
    reason of each dead letter.
    """

    books: OrderBooks
    forms: Mapping[str, int]
    states: Mapping[str, OrderState]
    tasks: Sequence[str]
    heard: Mapping[str, Sequence[HeardOrder]]
    dead_letters: Sequence[str] = ()
    takeovers: Sequence[Takeover] = ()
    failover: Failover | None = None
    outage: Outage | None = None
    transit: Transit | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, the figures behind it, and a line for each thing that speaks against it."""

    claim: str
    figures: str
    wrong: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.wrong
