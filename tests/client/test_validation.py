"""What a submission is refused for before anything is written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepward import App
from stepward.client.submitting import act_arguments, submission_checks
from stepward.errors import (
    BatchNotFound,
    InstanceNotFound,
    InvalidDuration,
    Refused,
    ScheduleNotFound,
    TaskNotFound,
)


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "\x1b[31m", "\x85", "\ud800"])
def test_short_texts_are_what_every_store_can_keep(text: str) -> None:
    for check, what in (
        (submission_checks.fairness_key, "fairness_key"),
        (act_arguments.person, "by"),
        (act_arguments.signal_id, "signal id"),
    ):
        with pytest.raises(Refused) as caught:
            check(text)
        message = str(caught.value)
        assert message == f"{what}: expected no control characters, found {text!r}; leave them out"
        assert message.isprintable()


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "\ud800"])
async def test_what_no_id_or_name_can_be_is_not_found_whatever_the_store_takes(text: str, tmp_path: Path) -> None:
    async with App("shop", store=f"sqlite:///{tmp_path / 'tasks.db'}").client() as client:
        with pytest.raises(TaskNotFound):
            await client.task(text).status()
        with pytest.raises(ScheduleNotFound):
            await client.pause_schedule(text)
        with pytest.raises(BatchNotFound):
            await client.batches.pause(text)
        with pytest.raises(InstanceNotFound):
            await client.drain_instance(text)
        assert await client.alerts(id=text) == []
    assert submission_checks.known_id(text).isprintable()


def test_other_texts_are_taken_as_they_are() -> None:
    for text in ("tenant 42", "Zoë", "日本", "👩\u200d🚀", None):
        assert submission_checks.fairness_key(text) == text


@pytest.mark.parametrize("value", [True, False, 10, -1, 10**30, "5", None])
def test_a_priority_is_a_number(value: Any) -> None:
    with pytest.raises(Refused, match=r"^priority: expected 0 \(last\) to 9 \(first\), found .{1,60}; give a number$"):
        submission_checks.priority(value)


def test_a_deadline_is_an_instant_to_come() -> None:
    now = 1_800_000_000.0
    assert submission_checks.deadline(datetime.fromtimestamp(now + 1, UTC), None, now) == now + 1
    for past in (now, now - 90):
        with pytest.raises(InvalidDuration, match="expected an instant to come, found 2027-01-15T"):
            submission_checks.deadline(datetime.fromtimestamp(past, UTC), None, now)
    assert submission_checks.deadline("5m", 10.0, now) == now + 300
    assert submission_checks.deadline(None, 10.0, now) == now + 10
