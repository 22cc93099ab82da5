"""The example of a pipeline, run as its page says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 60


async def test_one_holiday_is_booked_and_the_other_taken_back() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "examples.pipeline",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    booked, taken_back = out.decode().split("nobody drives there\n")
    assert booked.splitlines() == [
        "Ada: seat 12A, from the flight to Lisbon to the room in Lisbon",
        "  5 of 5 stages done",
        "  flights.book_flight/1       completed",
        "  hotels.book_room/1          completed",
        "  flights.choose_seat/1       completed",
        "  transfers.book_transfer/1   completed",
        "  write_itinerary/1           completed",
    ]
    for line in ("flights.book_flight/1       undone", "hotels.book_room/1          undone"):
        assert line in taken_back
    assert "write_itinerary/1           skipped" in taken_back
