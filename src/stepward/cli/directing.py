"""``resubmit``, ``undo``, ``cancel``, ``suspend``, ``resume``, ``mark-done``: what operators ask of tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click

from stepward.cli.arguments import json_value
from stepward.cli.failures import Silent, told
from stepward.cli.operator import with_client
from stepward.client import UNSET, Client, TaskHandle
from stepward.errors import InvalidArguments, Refused
from stepward.model.states import TaskState

IDS = click.argument("ids", metavar="ID…", nargs=-1, required=True)
TURNED = frozenset({TaskState.UNDOING, TaskState.UNDONE, TaskState.CANCELLED})
HELD = frozenset({TaskState.SUSPENDED})


@click.command("resubmit")
@IDS
@click.option("--step", metavar="KEY", help="The step to repeat; else the one that failed.")
@click.option("--input", "edited", metavar="JSON", help="The array of arguments to repeat it with.")
@with_client
async def resubmit(client: Client, ids: tuple[str, ...], step: str | None, edited: str | None) -> None:
    """Go on with tasks in error: the step that failed is repeated."""
    input = UNSET if edited is None else _array(edited, ids)
    await _each(client, ids, lambda task: task.resubmit(step, input))


@click.command("undo")
@IDS
@with_client
async def undo(client: Client, ids: tuple[str, ...]) -> None:
    """Undo tasks, even processed ones."""
    await _each(client, ids, lambda task: task.undo(), TURNED)


@click.command("cancel")
@IDS
@with_client
async def cancel(client: Client, ids: tuple[str, ...]) -> None:
    """Stop tasks, undo what they did, and end them cancelled."""
    await _each(client, ids, lambda task: task.cancel(), TURNED)


@click.command("suspend")
@IDS
@with_client
async def suspend(client: Client, ids: tuple[str, ...]) -> None:
    """Let nothing more of tasks start until `resume`."""
    await _each(client, ids, lambda task: task.suspend(), HELD)


@click.command("resume")
@IDS
@with_client
async def resume(client: Client, ids: tuple[str, ...]) -> None:
    """Go on with suspended tasks."""
    await _each(client, ids, lambda task: task.resume())


@click.command("mark-done", context_settings={"ignore_unknown_options": True})
@click.argument("id")
@click.argument("step")
@click.argument("value", metavar="JSON")
@with_client
async def mark_done(client: Client, id: str, step: str, value: str) -> None:
    """Record JSON as the result of a STEP that was done by hand, and go on with task ID."""
    result = json_value(value, f"result of {step}")
    await _each(client, (id,), lambda task: task.mark_done(step, result))


async def _each(
    client: Client,
    ids: tuple[str, ...],
    ask: Callable[[TaskHandle], Awaitable[TaskState]],
    wanted: frozenset[TaskState] | None = None,
) -> None:
    """Ask it of every task; one that refuses keeps the others from nothing."""
    codes = []
    for id in ids:
        try:
            state = await ask(client.task(id))
        except Refused as error:
            codes.append(told(error))
        else:
            later = wanted is not None and state not in wanted
            click.echo(f"{id}: {state}{' (its Scheduler has been told)' if later else ''}")
    if codes:
        raise Silent(max(codes))


def _array(text: str, ids: tuple[str, ...]) -> object:
    value = json_value(text, "--input")
    if not isinstance(value, list):
        raise InvalidArguments(
            f"--input: expected an array of the step's arguments, found {text[:40]}; write [{text[:40]}]"
        )
    if len(ids) > 1:
        raise InvalidArguments(f"--input: expected one ID beside it, found {len(ids)}; edit one task at a time")
    return value
