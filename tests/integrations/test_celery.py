"""Celery's tasks as workflows of one step: what is repeated, what fails, and what a bound task does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import Reject

from examples.frameworks import with_celery
from stepward import Agent, App, Retry, TaskFailed
from stepward.errors import DeclarationError
from stepward.integrations.celery import from_celery_task
from stepward.testing import environment

worker = Celery("tests", broker="memory://")
calls: list[tuple[Any, ...]] = []


@pytest.fixture(autouse=True)
def forgotten() -> None:
    calls.clear()
    with_celery.sent.clear()


async def test_the_example_submits_durably_and_is_repeated_as_the_task_declares() -> None:
    async with environment(with_celery.make_app()) as env:
        task = await env.client.submit("shop.send_invoice", "A-1", copies=2)
        assert await task.result() == "2 of invoice A-1"
        again = await env.client.submit(with_celery.send_invoice_durably, "A-2~")
        assert await again.result() == "1 of invoice A-2~"
        assert len(with_celery.sent) == 3


async def test_an_exception_that_the_task_does_not_retry_for_fails_at_once() -> None:
    async with environment(with_celery.make_app()) as env:
        task = await env.client.submit("shop.send_invoice", "")
        with pytest.raises(TaskFailed, match="ValueError: no order"):
            await task.result()


@worker.task(bind=True, name="bound")  # type: ignore[untyped-decorator]
def bound(self: Any, order: str) -> str:
    calls.append((self.name, order))
    if len(calls) < 3:
        raise self.retry(exc=OSError("later"), countdown=600)
    if order == "rejected":
        raise Reject("no", requeue=False)
    return order


def bound_app() -> App:
    agent = Agent("mail", retry=Retry(attempts=4, initial="10ms"))
    return App("shop", workflows=[from_celery_task(bound, agent)], agents=[agent])


async def test_a_bound_task_is_repeated_by_its_own_retry() -> None:
    async with environment(bound_app()) as env:
        assert await (await env.client.submit("bound", "A-1")).result() == "A-1"
        assert calls == [("bound", "A-1")] * 3


async def test_a_rejected_task_fails_at_once() -> None:
    async with environment(bound_app()) as env:
        with pytest.raises(TaskFailed, match="Reject"):
            await (await env.client.submit("bound", "rejected")).result()
        assert len(calls) == 3


def test_what_is_no_task_of_celery_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="expected a task of Celery, found"):
        from_celery_task(lambda: None, Agent("mail"))
