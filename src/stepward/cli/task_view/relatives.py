"""A task's relatives in ``show``: the task that it is a step of, and child tasks that failed or that it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from stepward.cli.input.operator_store import command_line
from stepward.cli.output.screen import state_cell
from stepward.cli.output.text_width import clean
from stepward.client import Client, session_of
from stepward.model.effects import child_id
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState

CONCERNING = frozenset({StepState.RUNNING, StepState.TO_REPEAT, StepState.FAILED})
MOST = 5
"""Children that are shown; the latest are."""


class Family(Struct, frozen=True):
    """What ``show`` tells of a task's relatives."""

    parent: str | None
    """The id of the task that it is a step of."""
    children: list[Task]
    """Those that failed, or that it waits for."""


async def family(client: Client, record: Task, steps: Sequence[Step]) -> Family:
    """The relatives of a task that somebody looks at."""
    concerning = [s for s in steps if s.kind is StepKind.CHILD and s.state in CONCERNING and s.set_aside_at is None]
    found = [await session_of(client).store.client.task(child_id(record, step)) for step in concerning[-MOST:]]
    return Family(await _parent(client, record), [child for child in found if child is not None])


def print_children(console: Console, children: Sequence[Task]) -> None:
    """Print each child with its state and the command that shows it."""
    if not children:
        return
    console.print(Text("\nChildren that failed, or that it waits for", style="bold"))
    for child in children:
        state = state_cell(child.state)
        line = Text.assemble("  ", (state.text, state.style), f"  {clean(child.id)}  ")
        console.print(line.append(command_line("show", child.id), style="cyan"), soft_wrap=True)


async def _parent(client: Client, record: Task) -> str | None:
    if record.parent is None:
        return None
    found = await session_of(client).store.supervisor.outlived_tasks([record.parent], "")
    return found[0].id if found else record.parent
