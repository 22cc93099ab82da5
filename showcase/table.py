"""The table: what became of each order, its steps by Stepward's record, its effects by the services' books."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from examples.orders.database import OrderRecord, OrderState
from showcase.proof.books import OrderBook, OrderBooks
from showcase.proof.words import euros
from showcase.stories import DemoStory
from stepward import TaskHandle

STYLES = {
    OrderState.PROCESSED: "green",
    OrderState.UNDONE: "yellow",
    OrderState.CANCELLED: "yellow",
    OrderState.ERROR: "bold red",
}
LEGEND = (
    "Steps: done of those begun. Tries: attempts of the remote ones, undo included.",
    "Calls, money, stock and parcel: what the remote services say themselves.",
)
NONE = Text("–", style="dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCourse:
    """How a task went: its forward steps done and begun, and the attempts of all remote ones, undo included."""

    uid: str
    done: int
    steps: int
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One order of the table."""

    order: OrderRecord
    story: DemoStory
    course: OrderCourse


async def course_of(handle: TaskHandle) -> OrderCourse:
    """How the task went."""
    steps = await handle.steps()
    forward = [step for step in steps if step.kind != "undo"]
    return OrderCourse(
        uid=(await handle.status()).uid,
        done=sum(step.state in ("completed", "undone") and step.error is None for step in forward),
        steps=len(forward),
        attempts=sum(step.attempt for step in steps if step.agent is not None),
    )


def table(rows: Iterable[TableRow], books: OrderBooks) -> Table:
    """The table; it fits 80 columns as long as no story has more than 26 letters."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    shown.add_column("No", no_wrap=True)
    shown.add_column("What it met", no_wrap=True)
    shown.add_column("Became", no_wrap=True)
    for heading in ("Steps", "Tries", "Calls"):
        shown.add_column(heading, no_wrap=True, justify="right")
    shown.add_column("Money", no_wrap=True, justify="right")
    shown.add_column("Stock", no_wrap=True)
    shown.add_column("Parcel", no_wrap=True)
    for row in rows:
        shown.add_row(*_cells(row, books))
    return shown


def _cells(row: TableRow, books: OrderBooks) -> list[str | Text]:
    order, course = row.order, row.course
    return [
        order.id.removeprefix("order-"),
        _met(row, books),
        Text(order.state.lower(), style=STYLES.get(order.state, "")),
        f"{course.done}/{course.steps}",
        str(course.attempts),
        str(_calls(course, books)),
        _effect(books.payment, "charge", order, euros(order.amount_cents), "refunded"),
        _effect(books.stock, "reserve", order, _pieces(books.stock, order), "back"),
        _effect(books.parcel, "create", order, "sent", "off"),
    ]


def _met(row: TableRow, books: OrderBooks) -> str:
    letters = books.mail.done("send", row.order.id)
    was_flaky = row.story.met == "nothing" and books.mail.calls(letters) > 1
    return "flaky mail service" if was_flaky else row.story.met


def _calls(course: OrderCourse, books: OrderBooks) -> int:
    """How often services were called for the task: its idempotency keys begin with its uid."""
    return sum(
        times
        for book in books.by_service().values()
        for key, times in book.deliveries.items()
        if key.startswith(f"{course.uid}/")
    )


def _pieces(book: OrderBook, order: OrderRecord) -> str:
    return str(sum(effect.details["quantity"] for effect in book.kept("reserve", order.id)))


def _effect(book: OrderBook, action: str, order: OrderRecord, kept: str, taken_back: str) -> str | Text:
    if book.kept(action, order.id):
        return kept
    return Text(taken_back, style="yellow") if book.done(action, order.id) else NONE
