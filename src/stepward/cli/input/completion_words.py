"""Words that a shell offers for an argument: ids, names and workflows, read from the store or the application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import click

from stepward.cli.input.operator_store import operator_client, settings_for
from stepward.cli.input.targets import load_app
from stepward.client import Client

PATIENCE = 2.0
"""Seconds after which a shell gets nothing, rather than waiting for a store that does not answer."""
MOST_TASKS = 200
"""The newest tasks, whose ids are offered."""

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _from_store(read: Callable[[Client], Awaitable[list[str]]]) -> Completer:
    """Offers what is read from the store of ``--store`` or the settings; nothing where that fails."""

    def complete(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        return _matching(lambda: asyncio.run(_read(context.params.get("store"), read)), begun)

    return complete


async def _read(store: str | None, read: Callable[[Client], Awaitable[list[str]]]) -> list[str]:
    async with asyncio.timeout(PATIENCE), operator_client(settings_for(store)) as client:
        return await read(client)


def _matching(words: Callable[[], list[str]], begun: str) -> list[str]:
    try:
        return [word for word in words() if word.startswith(begun)]
    except Exception:  # A shell has no place for an error: the command itself shows it.
        return []


async def _task_ids(client: Client) -> list[str]:
    return [task.id for task in await client.tasks(limit=MOST_TASKS)]


async def _agent_names(client: Client) -> list[str]:
    return [agent.name for agent in await client.agents()]


async def _schedule_names(client: Client) -> list[str]:
    return [schedule.name for schedule in await client.schedules()]


task_ids = _from_store(_task_ids)
agent_names = _from_store(_agent_names)
schedule_names = _from_store(_schedule_names)


def workflow_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Offers the workflows of the application that the command names before."""
    target: Any = context.params.get("target")
    return _matching(lambda: sorted(load_app(target).registry.newest), begun)
