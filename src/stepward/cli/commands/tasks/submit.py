"""``submit``, ``signal`` and ``update``: input for tasks from outside."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import click

from stepward.app import App
from stepward.cli.input.arguments import instant_or_duration, json_value, label
from stepward.cli.input.completion_words import task_ids, workflow_names
from stepward.cli.input.operator_store import with_client
from stepward.cli.input.targets import app_or_store
from stepward.client import Client
from stepward.client.handle import actor


@click.command("submit", context_settings={"ignore_unknown_options": True})
@click.argument("target", metavar="APP_OR_STORE")
@click.argument("workflow", shell_complete=workflow_names)
@click.argument("values", metavar="JSON…", nargs=-1)
@click.option("--id", "id", metavar="ID", help="The task's id; submitting the same id again starts nothing.")
@click.option("--priority", type=int, default=5, show_default=True, help="0 (last) to 9 (first).")
@click.option("--fairness-key", metavar="K", help="Tasks of one priority take turns by key.")
@click.option("--complete-by", metavar="D", help="15m from now, or an instant: 2030-01-31T12:00:00Z.")
@click.option("--delay", metavar="D", help="Start the task after this time.")
@click.option("--label", "labels", metavar="K=V", multiple=True, help="A label; may be repeated.")
@click.option("--wait", is_flag=True, help="Wait for the end and print the result; exit 1 if there is none.")
def submit(
    target: str,
    workflow: str,
    values: tuple[str, ...],
    id: str | None,
    priority: int,
    fairness_key: str | None,
    complete_by: str | None,
    delay: str | None,
    labels: tuple[str, ...],
    wait: bool,
) -> None:
    """Submit a task that runs WORKFLOW with the arguments JSON…, and print its id.

    Text is JSON too: write '"text"'.
    """
    app = app_or_store(target)
    arguments = [json_value(value, f"argument {n}") for n, value in enumerate(values, 1)]
    options: dict[str, Any] = {
        "id": id,
        "priority": priority,
        "fairness_key": fairness_key,
        "complete_by": instant_or_duration(complete_by),
        "delay": delay,
        "labels": dict(label(each) for each in labels),
    }
    asyncio.run(_submit(app, workflow, arguments, options, wait=wait))


@click.command("signal", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=task_ids)
@click.argument("name")
@click.argument("value", metavar="[JSON]", default="null")
@click.option("--id", "signal_id", metavar="SIGNAL_ID", help="A signal whose id was seen before is dropped.")
@with_client
async def signal(client: Client, id: str, name: str, value: str, signal_id: str | None) -> None:
    """Send task ID the signal NAME, with JSON as its payload."""
    payload = json_value(value, f"signal {name}")
    fresh = await client.task(id).signal(name, payload, signal_id, by=actor())
    click.echo(f"{id}: {'signalled' if fresh else 'this signal came before'}")


@click.command("update", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=task_ids)
@click.argument("name")
@click.argument("value", metavar="[JSON]", default="null")
@click.option("--id", "update_id", metavar="UPDATE_ID", help="An update is carried out once under its id.")
@click.option("--timeout", metavar="D", default="30s", show_default=True, help="How long to wait for the answer.")
@with_client
async def update(client: Client, id: str, name: str, value: str, update_id: str | None, timeout: str) -> None:
    """Ask task ID for the update NAME, with JSON as its payload, and print the task's answer; exit 1 without one."""
    payload = json_value(value, f"update {name}")
    answer = await client.task(id).update(name, payload, id=update_id, timeout=timeout, by=actor())
    click.echo(json.dumps(answer))


async def _submit(app: App, workflow: str, arguments: list[object], options: dict[str, Any], *, wait: bool) -> None:
    async with app.client() as client:
        handle = await client.submit(workflow, *arguments, **options)
        if not wait:
            click.echo(handle.id)
            return
        click.echo(f"{handle.id}: submitted, waiting for its end", err=True)
        click.echo(json.dumps(await handle.result()))
