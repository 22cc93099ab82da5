"""Letters on their way to the store: anything written there becomes a dead letter, and ends no process."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from stepward.errors import Refused
from stepward.transport.broker.dead_letters import LONGEST_REASON, BrokerDeadLetter, bury_message, dead_letter_message

LETTERS = "letters.shop.store"
QUEUE = "submissions.shop.orders"


class Graves:
    """Keeps what is buried, but under no name that it refuses."""

    def __init__(self, *, refuses: str = "") -> None:
        self._refuses = refuses
        self.found: list[tuple[str, bytes, str, int]] = []

    async def bury_bodies(
        self, queue: str, letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if queue == self._refuses:
            raise Refused("store: expected data that its tables allow")
        self.found += [(queue, *letter) for letter in letters]


async def test_a_letter_lies_where_it_came_from() -> None:
    graves = Graves()
    await bury_message(graves, dead_letter_message(QUEUE, BrokerDeadLetter(b"\xff", "no \0 sense", 3), 1000), LETTERS)
    assert graves.found == [(QUEUE, b"\xff", "no \0 sense", 3)]


@pytest.mark.parametrize(
    "changed",
    [
        *({"queue": queue} for queue in ("", "x" * 301, "a\0", "\0\n")),
        *({"tries": tries} for tries in (10**19, 2**31, -1)),
        {"body": "?"},
        {"reason": None},
    ],
)
async def test_a_body_that_no_store_accepts_is_kept_as_a_dead_letter(changed: dict[str, object]) -> None:
    graves = Graves()
    body = msgspec.json.encode({"queue": QUEUE, "body": "eA==", "reason": "no", "tries": 1} | changed)
    await bury_message(graves, body, LETTERS)
    ((queue, found, reason, tries),) = graves.found
    assert (queue, found, tries) == (LETTERS, body, 1)
    assert "expected one on its way to the store" in reason


async def test_a_body_that_this_store_refuses_is_kept_as_a_dead_letter() -> None:
    graves = Graves(refuses=QUEUE)
    body = dead_letter_message(QUEUE, BrokerDeadLetter(b"x", "no", 1), 1000)
    await bury_message(graves, body, LETTERS)
    assert graves.found == [(LETTERS, body, "store: expected data that its tables allow", 1)]


async def test_a_letter_fits_into_a_message_whatever_its_reason_quotes() -> None:
    graves, limit = Graves(), 1_000_000
    body = dead_letter_message(QUEUE, BrokerDeadLetter(b"x" * limit, "\1" * limit), limit)
    assert len(body) <= limit
    await bury_message(graves, body, LETTERS)
    ((_, found, reason, _),) = graves.found
    assert (reason, len(found) > limit / 2) == ("\1" * LONGEST_REASON, True)
