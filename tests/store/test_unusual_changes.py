"""The rows of a turn's changes are looked for where a change says that it has some."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.store.contract import AddedEvents, Change, Trim
from stepward.store.rules.turn_rows import unusual

USUAL = {"task", "born", "inserts", "finishes", "move", "complete_by"}
"""What each change is asked for."""
GIVEN: dict[str, Any] = {
    "plans": {("flow", "1"): ()},
    "status_events": AddedEvents(0),
    "trim": Trim(1, 2, keeps_effects=False),
    "attributes": b"{}",
    "fits": b"{}",
}
SOMETHING = [object()]


@pytest.mark.parametrize("field", sorted(set(Change.__struct_fields__) - USUAL))
def test_a_change_with_anything_that_most_have_none_of_is_unusual(field: str) -> None:
    change = Change(task="t", **{field: GIVEN.get(field, SOMETHING)})
    assert unusual([Change(task="before"), change, Change(task="behind")]) == [change]
