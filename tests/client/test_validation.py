"""What a submission is refused for before anything is written."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepward import App, workflow
from stepward.client.submitting import act_arguments, submission_checks
from stepward.errors import (
    BatchNotFound,
    InstanceNotFound,
    InvalidDuration,
    InvalidFilter,
    Refused,
    ScheduleNotFound,
    TaskNotFound,
)


@workflow
async def ordered(product: str) -> str:
    return product


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


@pytest.mark.parametrize("limit", [0, -1, 10_001, 10**30, "5", None])
async def test_every_listing_is_bounded(limit: Any, tmp_path: Path) -> None:
    async with App("shop", store=f"sqlite:///{tmp_path / 'tasks.db'}").client() as client:
        for listing in (client.tasks, client.alerts, client.dead_letters, client.audits):
            with pytest.raises(Refused, match=r"^limit: expected 1 to 10,000, found .{1,60}; \w"):
                await listing(limit=limit)


@pytest.mark.parametrize(
    ("arguments", "ids", "message"),
    [
        (5, None, "arguments: expected a list of tuples, found 5; give one tuple for each task"),
        ("ab", None, "arguments: expected a list of tuples, found 'ab'; give one tuple for each task"),
        ([5], None, "arguments: expected a tuple for each task, found 5; write (…,) around it"),
        (["a"], None, "arguments: expected a tuple for each task, found 'a'; write (…,) around it"),
        ([("x",)], "a", "ids: expected a list, found 'a'; write [ ] around it"),
    ],
)
async def test_submissions_are_a_list_of_tuples(arguments: Any, ids: Any, message: str, tmp_path: Path) -> None:
    async with App("shop", workflows=[ordered], store=f"sqlite:///{tmp_path / 'tasks.db'}").client() as client:
        with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
            await client.submit_many(ordered, arguments, ids=ids)
        assert await client.tasks() == []


async def test_names_of_another_type_are_refused_or_not_found(tmp_path: Path) -> None:
    wrong: Any = 5
    async with App("shop", store=f"sqlite:///{tmp_path / 'tasks.db'}").client() as client:
        with pytest.raises(InvalidFilter, match="expected a text, found int"):
            await client.delete(wrong)
        with pytest.raises(InstanceNotFound):
            await client.drain_instance(wrong)
        with pytest.raises(ScheduleNotFound):
            await client.pause_schedule(wrong)
        assert not await client.enable_webhook(wrong)
