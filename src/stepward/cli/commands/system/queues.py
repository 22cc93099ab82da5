"""``post`` and ``events``: an application's queues from the terminal."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from stepward.app import App
from stepward.cli.input.arguments import json_value
from stepward.cli.input.targets import app_or_store
from stepward.cli.output.json_output import keys, plain
from stepward.cli.output.terminal import room, screen
from stepward.cli.output.text_width import cut
from stepward.cli.processes.logs import hush_clients
from stepward.client import Queues, StatusEvent
from stepward.errors import Refused
from stepward.transport.open_broker import is_broker
from stepward.views.printable import clean
from stepward.views.times import clock, instant


@click.command("post", context_settings={"ignore_unknown_options": True})
@click.argument("target", metavar="APP_OR_STORE")
@click.argument("queue")
@click.argument("value", metavar="JSON")
@click.option("--id", "id", metavar="ID", help="Becomes the task's id; a message with the same id is accepted once.")
@click.option("--reply-to", metavar="QUEUE", help="The private response queue that gets the task's status events.")
def post(target: str, queue: str, value: str, id: str | None, reply_to: str | None) -> None:
    """Post JSON to the submission queue QUEUE, and print the message's id."""
    app = app_or_store(target)
    served = [submission.queue for submission in app.submissions]
    if served and queue not in served:
        raise Refused(
            f"queue: expected one that {app.name} serves ({', '.join(served)}), found {queue[:60]!r}; name one"
        )
    click.echo(asyncio.run(_post(app, queue, json_value(value, "message"), id, reply_to)))


@click.command("events", epilog=f"{keys(StatusEvent)} One line of JSON an event.")
@click.argument("target", metavar="APP_OR_STORE")
@click.argument("queue")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a line for each event.")
def events(target: str, queue: str, as_json: bool) -> None:
    """Follow the private response queue QUEUE until ^C; its reader still gets every event."""
    asyncio.run(_follow(app_or_store(target), queue, as_json=as_json))


async def _post(app: App, queue: str, data: Any, id: str | None, reply_to: str | None) -> str:
    async with _queues(app) as queues:
        return await queues.post(queue, data, id=id, reply_to=reply_to)


async def _follow(app: App, queue: str, *, as_json: bool) -> None:
    console = screen()
    async with _queues(app) as queues:
        async for event in queues.watch(queue):
            if as_json:
                click.echo(json.dumps(plain(event) | {"time": instant(event.time.timestamp())}))
            else:
                _print(console, event)


def _queues(app: App) -> Queues:
    """Open the queues: at the broker if the transport is one, else in the store."""
    hush_clients()
    settings = app.settings
    address = settings.transport if is_broker(settings.transport) else settings.stores
    return Queues(address, app=app.name, payload_bytes=settings.payload_bytes)


def _print(console: Console, event: StatusEvent) -> None:
    when = clock(event.time.timestamp())
    known = {name: value for name, value in event.data.items() if name != "workflow"}
    more = json.dumps(known, ensure_ascii=False) if known else ""
    kind = event.type.removeprefix("stepward.")
    line = cut(clean(f"{when}  {event.subject}  {event.sequence}  {kind}  {more}".rstrip()), room())
    console.print(Text(line), soft_wrap=True)
