"""``resubmit``, ``undo``, ``cancel``, ``suspend``, ``resume``, ``mark-done``: directives for tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import click
from msgspec.structs import replace

from stepward.cli.error_wording import in_options
from stepward.cli.exit_codes import Silent, code_of, complain
from stepward.cli.input.arguments import instant_or_duration, json_value
from stepward.cli.input.completion_words import task_ids
from stepward.cli.input.operator_store import with_client
from stepward.client import UNSET, Client, RepairPreview, TaskHandle, refusal, session_of
from stepward.client.submitting.submission_checks import deadline
from stepward.durations import Duration
from stepward.errors import InvalidArguments, Refused
from stepward.model.states import TaskState
from stepward.payload import encode
from stepward.store.contract import Directive, Doubt, Later

IDS = click.argument("ids", metavar="ID…", nargs=-1, required=True, shell_complete=task_ids)
LATER = click.option(
    "--later",
    type=click.Choice(["undo", "keep"]),
    help="Steps after the failed one are set aside: undo them first, or keep them.",
)
COMPLETE_BY = click.option(
    "--complete-by", metavar="D", help="A new end for the whole task: 15m from now, or 2030-01-31T12:00:00Z."
)
DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Show what is in doubt, would be set aside or refused; change nothing."
)
TURNED = frozenset({TaskState.UNDOING, TaskState.UNDONE, TaskState.CANCELLED})
HELD = frozenset({TaskState.SUSPENDED})


@click.command("resubmit")
@IDS
@click.option("--step", metavar="KEY", help="The step to repeat; else the one that failed.")
@click.option("--input", "edited", metavar="JSON", help="The array of arguments to repeat it with.")
@click.option("--failed-children", is_flag=True, help="Repeat every child task that failed, and keep the others.")
@click.option("--undo-first", is_flag=True, help="Undo the attempts in doubt, then repeat the step.")
@click.option("--did-not-happen", is_flag=True, help="The attempts in doubt did nothing: you have checked.")
@LATER
@COMPLETE_BY
@click.option("--priority", type=int, metavar="N", help="Its priority from now on, 0 (last) to 9 (first).")
@DRY_RUN
@with_client
async def resubmit(
    client: Client,
    ids: tuple[str, ...],
    step: str | None,
    edited: str | None,
    failed_children: bool,
    undo_first: bool,
    did_not_happen: bool,
    later: str | None,
    complete_by: str | None,
    priority: int | None,
    dry_run: bool,
) -> None:
    """Continue tasks in error: the step that failed is repeated."""
    input = UNSET if edited is None else _array(edited, ids)
    doubt = _doubt(undo_first=undo_first, did_not_happen=did_not_happen)
    by = instant_or_duration(complete_by)
    if dry_run:
        body = None if edited is None else encode(input, "--input", limit=session_of(client).limit)
        said: dict[str, Any] = {"step": step, "input": body, "doubt": doubt, "failed_children": failed_children}
        asked = Directive(verb="resubmit", actor="", **said)
        await _show_previews(client, ids, _completed(client, asked, later, by))
        return
    said = {"doubt": doubt, "later": later, "complete_by": by, "priority": priority, "failed_children": failed_children}
    await _each(client, ids, lambda task: task.resubmit(step, input, **said))


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
    """Stop tasks, undo their steps, and end them cancelled."""
    await _each(client, ids, lambda task: task.cancel(), TURNED)


@click.command("suspend")
@IDS
@with_client
async def suspend(client: Client, ids: tuple[str, ...]) -> None:
    """Start no further step of tasks until `resume`."""
    await _each(client, ids, lambda task: task.suspend(), HELD)


@click.command("resume")
@IDS
@with_client
async def resume(client: Client, ids: tuple[str, ...]) -> None:
    """Continue suspended tasks."""
    await _each(client, ids, lambda task: task.resume())


@click.command("mark-done", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=task_ids)
@click.argument("step")
@click.argument("value", metavar="JSON")
@LATER
@COMPLETE_BY
@DRY_RUN
@with_client
async def mark_done(
    client: Client, id: str, step: str, value: str, later: str | None, complete_by: str | None, dry_run: bool
) -> None:
    """Record JSON as the result of a STEP that was done by hand, and continue task ID."""
    result = json_value(value, f"result of {step}")
    by = instant_or_duration(complete_by)
    if dry_run:
        asked = Directive(
            verb="mark_done",
            actor="",
            step=step,
            result=encode(result, f"result of {step}", limit=session_of(client).limit),
        )
        await _show_previews(client, (id,), _completed(client, asked, later, by))
        return
    await _each(client, (id,), lambda task: task.mark_done(step, result, later=later, complete_by=by))


def _completed(client: Client, asked: Directive, later: str | None, by: datetime | Duration | None) -> Directive:
    """The directive with the options that resubmit and mark-done share."""
    word = None if later is None else Later(later)
    return replace(asked, later=word, deadline=deadline(by, None, session_of(client).store.now()))


def _doubt(*, undo_first: bool, did_not_happen: bool) -> Doubt | None:
    if undo_first and did_not_happen:
        raise click.UsageError("expected --undo-first or --did-not-happen, found both; choose one")
    if undo_first:
        return Doubt.UNDO
    return Doubt.DID_NOT_HAPPEN if did_not_happen else None


async def _each(
    client: Client,
    ids: tuple[str, ...],
    ask: Callable[[TaskHandle], Awaitable[TaskState]],
    wanted: frozenset[TaskState] | None = None,
) -> None:
    """Send every task the directive; one that refuses it does not stop the others."""
    codes = []
    for id in ids:
        try:
            state = await ask(client.task(id))
        except Refused as error:
            complain(in_options(str(error)))
            codes.append(code_of(error))
        else:
            later = wanted is not None and state not in wanted
            click.echo(f"{id}: {state}{' (its Scheduler will carry it out)' if later else ''}")
    if codes:
        raise Silent(max(codes))


async def _show_previews(client: Client, ids: tuple[str, ...], directive: Directive) -> None:
    """Print for every task the effect of the directive, or why it would be refused."""
    codes = []
    for id in ids:
        try:
            click.echo(_previewed(id, await client.task(id).preview(directive.step)))
            refused = await refusal(
                session_of(client).store.client,
                await session_of(client).record(id),
                await session_of(client).store.client.steps(id),
                directive,
            )
            if refused is not None:
                click.echo(f"  would be refused: {in_options(refused)}")
        except Refused as error:
            complain(in_options(str(error)))
            codes.append(code_of(error))
    if codes:
        raise Silent(max(codes))


def _previewed(id: str, preview: RepairPreview) -> str:
    lines = [f"{id}: {preview.step or 'no step failed: it continues from the record'}"]
    for words, keys in (
        ("in doubt", preview.in_doubt),
        ("would be set aside", preview.set_aside),
        ("of that, may have acted (--later undo|keep)", preview.acted),
        ("of that, --later undo undoes first", preview.can_undo),
    ):
        if keys:
            lines.append(f"  {words}: {', '.join(keys)}")
    return "\n".join(lines)


def _array(text: str, ids: tuple[str, ...]) -> object:
    value = json_value(text, "--input")
    if not isinstance(value, list):
        raise InvalidArguments(
            f"--input: expected an array of the step's arguments, found {text[:40]}; write [{text[:40]}]"
        )
    if len(ids) > 1:
        raise InvalidArguments(f"--input: expected one ID beside it, found {len(ids)}; edit one task at a time")
    return value
