"""What the services' own books have to say: money, stock, parcels and letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from showcase.proof.books import OrderBooks
from showcase.proof.evidence import Expected, Finding
from showcase.proof.words import count, euros, goods

ACTIONS = {"stock": "reserve", "payment": "charge", "parcel": "create", "mail": "send"}


def prove_services(orders: Sequence[Expected], books: OrderBooks) -> list[Finding]:
    """Every finding from the books of the services."""
    return [
        _charged_once(orders, books),
        _charged_right(orders, books),
        _parcels_for_money(orders, books),
        _stock_exact(orders, books),
        _nothing_kept(orders, books),
        _told(orders, books),
        _asked_again(orders, books),
        _no_strangers(orders, books),
        _faults_met(books),
    ]


def _charged_once(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    charges = {order.order_id: len(books.payment.done("charge", order.order_id)) for order in orders}
    wrong = [f"{order_id}: charged {times} times" for order_id, times in charges.items() if times > 1]
    return Finding("No order was charged twice", count(sum(charges.values()), "charge"), tuple(wrong))


def _charged_right(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    """Each fulfilled order has paid its price."""
    wrong = []
    total = 0
    for order in _fulfilled(orders):
        paid = sum(e.details["amount_cents"] for e in books.payment.kept("charge", order.order_id))
        total += paid
        if paid != order.amount_cents:
            wrong.append(f"{order.order_id}: costs {euros(order.amount_cents)}, paid {euros(paid)}")
    return Finding("Each fulfilled order has paid its price", f"{euros(total)} kept", tuple(wrong))


def _parcels_for_money(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    wrong = []
    parcels = 0
    for order in orders:
        charged = len(books.payment.kept("charge", order.order_id))
        sent = len(books.parcel.kept("create", order.order_id))
        parcels += sent
        if sent > 1 or bool(charged) != bool(sent):
            wrong.append(f"{order.order_id}: {count(charged, 'charge')}, {count(sent, 'parcel')}")
    return Finding("One parcel for each who paid, no other", count(parcels, "parcel"), tuple(wrong))


def _stock_exact(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    wrong = []
    sold: Counter[str] = Counter()
    for order in orders:
        wanted = order.goods if order.is_fulfilled else {}
        reserved: Counter[str] = Counter()
        for effect in books.stock.kept("reserve", order.order_id):
            reserved[effect.details["product"]] += effect.details["quantity"]
        sold += reserved
        if reserved != wanted:
            wrong.append(f"{order.order_id}: wants {goods(wanted)}, has {goods(reserved)} reserved")
    return Finding("Stock reserved is stock sold", goods(sold), tuple(wrong))


def _nothing_kept(orders: Sequence[Expected], books: OrderBooks) -> Finding:
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
    figures = f"{count(len(undone), 'order')}, {count(taken_back, 'effect')} taken back"
    return Finding("Nothing is kept of an undone order", figures, tuple(wrong))


def _told(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    letters = {order.order_id: len(books.mail.done("send", order.order_id)) for order in _fulfilled(orders)}
    wrong = [f"{order_id}: {count(sent, 'letter')}" for order_id, sent in letters.items() if sent != 1]
    return Finding("Each fulfilled order has one letter", count(sum(letters.values()), "letter"), tuple(wrong))


def _asked_again(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    """Where an answer was lost or late the service was asked again, under the same key, and acted once."""
    wrong = []
    repeated = 0
    for order in orders:
        for name in order.asked_again:
            effects = books.by_service()[name].done(ACTIONS[name], order.order_id)
            wanted = len(order.goods) if name == "stock" else 1
            if len(effects) != wanted or books.by_service()[name].calls(effects) <= wanted:
                wrong.append(f"{order.order_id}: {name} was not asked again under the same key")
    for book in books.by_service().values():
        repeated += sum(times > 1 for times in book.deliveries.values())
    return Finding("Repeats kept their key, and acted once", f"{count(repeated, 'key')} sent again", tuple(wrong))


def _no_strangers(orders: Sequence[Expected], books: OrderBooks) -> Finding:
    known = {order.order_id for order in orders}
    effects = [(name, effect) for name, book in books.by_service().items() for effect in book.effects]
    wrong = [f"{name} acted for unknown order {e.order_id}" for name, e in effects if e.order_id not in known]
    return Finding("Nothing was done that nobody ordered", count(len(effects), "effect"), tuple(wrong))


def _faults_met(books: OrderBooks) -> Finding:
    hits: Counter[str] = Counter()
    wrong = []
    for name, book in books.by_service().items():
        for fault in book.faults:
            hits[fault.kind.replace("_", " ")] += fault.hits
            if not fault.hits:
                wrong.append(f"{name} was never {fault.kind} on {fault.action} of {fault.order_id}")
    if not hits:
        wrong.append("the services had no faults at all")
    figures = f"{count(sum(hits.values()), 'hit')} of {count(len(hits), 'kind')}"
    return Finding("Every fault struck", figures, tuple(wrong))


def _fulfilled(orders: Iterable[Expected]) -> list[Expected]:
    return [order for order in orders if order.is_fulfilled]
