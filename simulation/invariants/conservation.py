"""S22 on every commit: a message leaves its submission queue as a task with its rows, or as a dead letter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from simulation.application.orders import PREFIX, SimulatedOrder
from simulation.invariants.history import Change, Mirror
from simulation.invariants.watched_rows import LetterRow, MessageRow
from stepward.errors import InvalidPayload
from stepward.model.messages.cloudevents import data_of, decode_event

SUBMISSIONS = "submissions."
MOST_TRIES = 5


class Conservation:
    """Follows the messages of submission queues."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self._commits = 0
        self._made: dict[str, int] = {}
        """By id, the commit that made the order."""
        self._taken: dict[int, int] = {}
        """By token, the commit that last took the message."""

    def committed(self, entries: list[Change]) -> None:
        """Check a transaction; the mirror has followed it already."""
        self._commits += 1
        self._follow(entries)
        self._check_together(entries)
        gone = list(_gone(entries))
        buried = [entry.after for entry in entries if entry.table == "dead_letter" and entry.before is None]
        for letter in buried:
            self._check_buried(letter, next((each for each in gone if _is_among(each, [letter])), None))
        for message in gone:
            if message.queue.startswith(SUBMISSIONS) and not _is_among(message, buried):
                self._check_settled(message)

    def _follow(self, entries: list[Change]) -> None:
        for table, before, after in entries:
            if table == "order" and before is None:
                self._made[after.id] = self._commits
            elif table == "message" and before is not None and after is not None and after.tries > before.tries:
                self._taken[after.token] = self._commits

    def _check_together(self, entries: list[Change]) -> None:
        """The order and the task of a message begin in one transaction."""
        orders = {entry.after.id for entry in entries if entry.table == "order" and entry.before is None}
        tasks = {entry.after.id for entry in entries if entry.table == "task" and entry.before is None}
        for id in orders ^ {id for id in tasks if id.startswith(PREFIX) and "/" not in id}:
            there = "an order and no task" if id in orders else "a task and no order"
            self._broken("S1", f"one commit made {there} of {id}")

    def _check_settled(self, message: MessageRow) -> None:
        id = message_id(message.body)
        if id is None or id not in self._mirror.orders:
            self._broken("S22", f"message {message.token} ({id}) was settled, and nothing was made of it")

    def _check_buried(self, letter: LetterRow, message: MessageRow | None) -> None:
        """A copy may be buried whose last try began before another copy became the task."""
        id, order = message_id(letter.body), order_of(letter.body)
        taken = -1 if message is None else self._taken.get(message.token, -1)
        if id is not None and id in self._mirror.orders and not 0 <= taken < self._made.get(id, 0):
            self._broken("S22", f"{id} is a dead letter and a task: {letter.reason}")
        elif order is not None and order.is_good and f" {MOST_TRIES} times" not in letter.reason:
            self._broken("S22", f"{id} was buried before its time: {letter.reason}")
        if not any(alert.kind == "dead_letter" for alert in self._mirror.alerts.values()):
            self._broken("S20", f"a message was buried and nobody was told: {letter.reason}")


def message_id(body: bytes) -> str | None:
    """The id of what was put, if it is an event."""
    try:
        return decode_event(body).id
    except InvalidPayload:
        return None


def order_of(body: bytes) -> SimulatedOrder | None:
    """The order in a message; None if it is no order."""
    try:
        order: SimulatedOrder = data_of(decode_event(body), SimulatedOrder)
    except InvalidPayload:
        return None
    return order


def _gone(entries: Iterable[Change]) -> Iterator[MessageRow]:
    for table, before, after in entries:
        if table == "message" and after is None:
            yield before


def _is_among(message: MessageRow, letters: list[LetterRow]) -> bool:
    return any((letter.queue, letter.body) == (message.queue, message.body) for letter in letters)
