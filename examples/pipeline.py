"""A holiday, booked by a declared plan: flight and hotel side by side, the transfer once both are booked.

    python -m examples.pipeline

The second holiday finds no transfer: what was booked for it is taken back.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable

from stepward import (
    Agent,
    App,
    From,
    Given,
    Pipeline,
    Stage,
    Supervision,
    TaskHandle,
    TaskUndone,
    Unrecoverable,
    step,
)

flights, hotels, transfers = Agent("flights"), Agent("hotels"), Agent("transfers")


@flights.operation(complete_by="10s")
async def book_flight(traveller: str, city: str) -> str:
    """The number of a flight; a real one would ask an airline here."""
    return f"flight to {city}"


@flights.operation(complete_by="10s")
async def choose_seat(flight: str, row: int) -> str:
    """A seat on a flight that is booked."""
    return f"{row}A"


@hotels.operation(complete_by="10s")
async def book_room(traveller: str, city: str) -> str:
    """A room."""
    return f"room in {city}"


@transfers.operation(complete_by="10s")
async def book_transfer(flight: str, room: str) -> str:
    """The driver who fetches the traveller."""
    if "Atlantis" in room:
        raise Unrecoverable("nobody drives there")
    return f"from the {flight} to the {room}"


@book_flight.undo
async def return_flight(flight: str | None, traveller: str, city: str) -> None:
    """Give the flight back."""


@book_room.undo
async def cancel_room(room: str | None, traveller: str, city: str) -> None:
    """Give the room back."""


@step()
async def write_itinerary(traveller: str, seat: str, transfer: str) -> str:
    """What the traveller takes along."""
    return f"{traveller}: seat {seat}, {transfer}"


holiday = Pipeline(
    "holiday",
    {
        "flight": Stage(book_flight, Given("traveller"), Given("city")),
        "room": Stage(book_room, Given("traveller"), Given("city")),
        "seat": Stage(choose_seat, From("flight"), 12),
        "transfer": Stage(book_transfer, From("flight"), From("room")),
        "itinerary": Stage(write_itinerary, Given("traveller"), From("seat"), From("transfer")),
    },
    given={"traveller": str, "city": str},
    result="itinerary",
    supervision=Supervision(then="undo"),
)


async def book(cities: Iterable[str], store: str) -> None:
    """Book a holiday in each of the cities, and tell what became of it."""
    app = App("holidays", workflows=[holiday], agents=[flights, hotels, transfers], store=store)
    async with app.running(), app.client() as client:
        for city in cities:
            task = await client.submit(holiday, "Ada", city)
            try:
                print(await task.result(timeout="1m"))
            except TaskUndone as undone:
                print(undone.cause["message"])
            await _tell(task)


async def _tell(task: TaskHandle) -> None:
    print(f"  {(await task.status()).progress} stages done")
    for recorded in await task.steps():
        print(f"  {recorded.key:27} {recorded.state}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(book(["Lisbon", "Atlantis"], f"sqlite:///{folder}/holidays.db"))
