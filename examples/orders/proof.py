"""The proof: do money, stock, parcels and letters agree with what became of the orders?

Pure: books and expectations in, findings out. Nothing here believes Stepward's own records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from examples.orders.books import Books
from examples.orders.database import OrderState

ACTIONS = {"stock": "reserve", "payment": "charge", "parcel": "create", "mail": "send"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An order as it was placed, and the state in which it has to end.

    `asked_again` names the services that must have been called more than once for it.
    """

    order_id: str
    product: str
    quantity: int
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
class Evidence:
    """What is there to be judged: `states` from the orders database, `tasks` the id of each task, `placements` how
    often an order was placed.
    """

    books: Books
    states: Mapping[str, OrderState]
    tasks: Sequence[str]
    placements: int
    takeovers: Sequence[Takeover] = ()


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


def prove(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """Every finding, those that hold included."""
    books = evidence.books
    return [
        _ended_right(orders, evidence.states),
        _one_task_each(orders, evidence),
        _charged_once(orders, books),
        _charged_right(orders, books),
        _parcels_for_money(orders, books),
        _stock_exact(orders, books),
        _nothing_kept(orders, books),
        _told(orders, books),
        _asked_again(orders, books),
        _no_strangers(orders, books),
        _faults_met(books),
        *(_taken_over(takeover, orders, evidence.states) for takeover in evidence.takeovers),
    ]


def _ended_right(orders: Sequence[Expected], states: Mapping[str, OrderState]) -> Finding:
    wrong = [
        f"{order.order_id}: has to be {order.ends}, is {states.get(order.order_id, 'missing')}"
        for order in orders
        if states.get(order.order_id) is not order.ends
    ]
    ends = Counter(states.values())
    figures = ", ".join(f"{ends[state]} {state.lower()}" for state in OrderState if ends[state])
    return Finding("Each order ended as it had to", figures, tuple(wrong))


def _one_task_each(orders: Sequence[Expected], evidence: Evidence) -> Finding:
    tasks = Counter(evidence.tasks)
    ids = {order.order_id for order in orders} | set(tasks)
    wrong = [f"{each}: {_count(tasks[each], 'task')}" for each in sorted(ids) if tasks[each] != 1]
    if evidence.placements <= len(orders):
        wrong.append("no order was placed twice")
    figures = f"{_count(evidence.placements, 'placement')}, {_count(len(evidence.tasks), 'task')}"
    return Finding("An order placed twice is one task", figures, tuple(wrong))


def _charged_once(orders: Sequence[Expected], books: Books) -> Finding:
    charges = {order.order_id: len(books.payment.done("charge", order.order_id)) for order in orders}
    wrong = [f"{order_id}: charged {times} times" for order_id, times in charges.items() if times > 1]
    return Finding("No order was charged twice", _count(sum(charges.values()), "charge"), tuple(wrong))


def _charged_right(orders: Sequence[Expected], books: Books) -> Finding:
    """Each fulfilled order has paid its price."""
    wrong = []
    total = 0
    for order in _fulfilled(orders):
        paid = sum(e.details["amount_cents"] for e in books.payment.kept("charge", order.order_id))
        total += paid
        if paid != order.amount_cents:
            wrong.append(f"{order.order_id}: costs {euros(order.amount_cents)}, paid {euros(paid)}")
    return Finding("Each fulfilled order has paid its price", f"{euros(total)} kept", tuple(wrong))


def _parcels_for_money(orders: Sequence[Expected], books: Books) -> Finding:
    wrong = []
    parcels = 0
    for order in orders:
        charged = len(books.payment.kept("charge", order.order_id))
        sent = len(books.parcel.kept("create", order.order_id))
        parcels += sent
        if sent > 1 or bool(charged) != bool(sent):
            wrong.append(f"{order.order_id}: {_count(charged, 'charge')}, {_count(sent, 'parcel')}")
    return Finding("One parcel for each who paid, no other", _count(parcels, "parcel"), tuple(wrong))


def _stock_exact(orders: Sequence[Expected], books: Books) -> Finding:
    wrong = []
    sold: Counter[str] = Counter()
    for order in orders:
        wanted = {order.product: order.quantity} if order.is_fulfilled else {}
        reserved: Counter[str] = Counter()
        for effect in books.stock.kept("reserve", order.order_id):
            reserved[effect.details["product"]] += effect.details["quantity"]
        sold += reserved
        if reserved != wanted:
            wrong.append(f"{order.order_id}: wants {_goods(wanted)}, has {_goods(reserved)} reserved")
    return Finding("Stock reserved is stock sold", _goods(sold), tuple(wrong))


def _nothing_kept(orders: Sequence[Expected], books: Books) -> Finding:
    """An order that was undone or refused leaves nothing behind at any service."""
    wrong = []
    taken_back = 0
    undone = [order.order_id for order in orders if not order.is_fulfilled]
    for name, action in ACTIONS.items():
        book = books.by_service()[name]
        for order_id in undone:
            kept = book.kept(action, order_id)
            taken_back += len(book.done(action, order_id)) - len(kept)
            wrong += [f"{order_id}: {name} still holds {effect.key}" for effect in kept]
    figures = f"{_count(len(undone), 'order')}, {_count(taken_back, 'effect')} taken back"
    return Finding("Nothing is kept of an undone order", figures, tuple(wrong))


def _told(orders: Sequence[Expected], books: Books) -> Finding:
    letters = {order.order_id: len(books.mail.done("send", order.order_id)) for order in _fulfilled(orders)}
    wrong = [f"{order_id}: {_count(sent, 'letter')}" for order_id, sent in letters.items() if sent != 1]
    return Finding("Each fulfilled order has one letter", _count(sum(letters.values()), "letter"), tuple(wrong))


def _asked_again(orders: Sequence[Expected], books: Books) -> Finding:
    """Where an answer was lost or late the service was asked again, under the same key, and acted once."""
    wrong = []
    repeated = 0
    for order in orders:
        for name in order.asked_again:
            effects = books.by_service()[name].done(ACTIONS[name], order.order_id)
            if len(effects) != 1 or books.by_service()[name].calls(effects) < 2:
                wrong.append(f"{order.order_id}: {name} was not asked again under the same key")
    for book in books.by_service().values():
        repeated += sum(times > 1 for times in book.deliveries.values())
    return Finding("Repeats kept their key, and acted once", f"{_count(repeated, 'key')} sent again", tuple(wrong))


def _no_strangers(orders: Sequence[Expected], books: Books) -> Finding:
    known = {order.order_id for order in orders}
    effects = [(name, effect) for name, book in books.by_service().items() for effect in book.effects]
    wrong = [f"{name} acted for unknown order {e.order_id}" for name, e in effects if e.order_id not in known]
    return Finding("Nothing was done that nobody ordered", _count(len(effects), "effect"), tuple(wrong))


def _faults_met(books: Books) -> Finding:
    hits: Counter[str] = Counter()
    wrong = []
    for name, book in books.by_service().items():
        for fault in book.faults:
            hits[fault.kind.replace("_", " ")] += fault.hits
            if not fault.hits:
                wrong.append(f"{name} was never {fault.kind} on {fault.action} of {fault.order_id}")
    if not hits:
        wrong.append("the services had no faults at all")
    figures = f"{_count(sum(hits.values()), 'hit')} of {_count(len(hits), 'kind')}"
    return Finding("Every fault struck", figures, tuple(wrong))


def _taken_over(takeover: Takeover, orders: Sequence[Expected], states: Mapping[str, OrderState]) -> Finding:
    held = [order for order in orders if order.order_id in takeover.held]
    lost = [order.order_id for order in held if states.get(order.order_id) is not order.ends]
    wrong = [f"{order_id}: was not brought to its end" for order_id in lost]
    if not held:
        wrong.append(f"{takeover.killed} held no order when it was killed")
    claim = f"The work of {takeover.killed} was taken over"
    return Finding(claim, f"{len(held) - len(lost)} of {_count(len(held), 'order')}", tuple(wrong))


def euros(cents: int) -> str:
    """An amount as people read it."""
    return f"€{cents // 100:,}.{cents % 100:02}"


def _fulfilled(orders: Iterable[Expected]) -> list[Expected]:
    return [order for order in orders if order.is_fulfilled]


def _goods(quantities: Counter[str] | dict[str, int]) -> str:
    return ", ".join(_count(n, product) for product, n in sorted(quantities.items())) or "nothing"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
