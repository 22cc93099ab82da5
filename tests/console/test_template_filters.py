"""What the pages make of values: words in place of the forms in which they are stored."""

from __future__ import annotations

import msgspec
import pytest

from stepward.console.filters.audit_details import details_of
from stepward.model.records import Audit
from stepward.views.schedules import nominal


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 2 * * *", "0 2 * * *"),
        ("every 3600.0s", "every 1h"),
        ("at 2026-11-29T02:33:58.184014+00:00", "once at 2026-11-29 02:33:58 UTC"),
        ("every now and then", "every now and then"),
    ],
)
def test_nominal_times_of_a_schedule_are_said_in_words(cron: str, said: str) -> None:
    assert nominal(cron) == said


def test_details_of_an_act_are_one_line_without_its_reason() -> None:
    details = {"reason": "mended", "batch": "b-1", "deadline": 0.0, "as_of": 1.0, "failure_count": 2}
    act = Audit(actor="ada", act="start", details=msgspec.json.encode(details))
    assert details_of(act) == "batch b-1, deadline 1970-01-01 00:00:00 UTC, failure count 2"
    assert details_of(Audit(actor="ada", act="start")) == ""
    long = Audit(actor="ada", act="start", details=msgspec.json.encode({"tasks": ["x" * 30] * 30}))
    assert len(details_of(long)) == 161
