"""The checker of submission queues can fail: a message that is lost, and a copy that is buried after its task began."""

from __future__ import annotations

import pytest

from simulation.invariants.conservation import Conservation
from simulation.invariants.history import Change, Mirror
from simulation.invariants.watched_rows import LetterRow, MessageRow, OrderRow

QUEUE = "submissions.simulated.orders"
BODY = b'{"specversion":"1.0","id":"queued-m","source":"/tests","type":"order","data":{}}'
FRESH = MessageRow(1, QUEUE, BODY, 0)
TAKEN = FRESH._replace(tries=1)
ORDER = Change("order", None, OrderRow("queued-m"))
TASK = Change("task", None, OrderRow("queued-m"))
"""Of a task's row the checker looks at the id alone."""
TAKE = Change("message", FRESH, TAKEN)
GONE = Change("message", TAKEN, None)
LETTER = Change("dead_letter", None, LetterRow(1, QUEUE, BODY, "failed 5 times: no"))


@pytest.mark.parametrize(
    ("commits", "finding"),
    [
        ([[TAKE], [ORDER, TASK], [LETTER, GONE]], None),
        ([[ORDER, TASK], [TAKE], [LETTER, GONE]], "queued-m is a dead letter and a task: failed 5 times: no"),
        ([[TAKE], [ORDER, TASK], [GONE]], None),
        ([[TAKE], [GONE]], "message 1 (queued-m) was settled, and nothing was made of it"),
        ([[TAKE], [ORDER]], "one commit made an order and no task of queued-m"),
    ],
    ids=["last try before the task", "last try after the task", "settled", "lost", "half"],
)
def test_every_message_is_accounted_for(commits: list[list[Change]], finding: str | None) -> None:
    found: list[str] = []
    mirror = Mirror()
    conservation = Conservation(mirror, lambda invariant, text: found.append(text))
    for entries in commits:
        for entry in entries:
            if entry.table == "order":
                mirror.orders[entry.after.id] = entry.after
        conservation.committed(entries)
    found = [text for text in found if "nobody was told" not in text]
    assert found == ([] if finding is None else [finding])
