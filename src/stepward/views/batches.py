"""Batches in words."""

from __future__ import annotations

from stepward.store.contract import Batch, BatchParameters
from stepward.views.times import instant


def counted(number: int, is_exact: bool) -> str:
    """How many tasks."""
    tasks = f"{number:,} task{'' if number == 1 else 's'}"
    return tasks if is_exact else f"about {tasks} (estimated)"


def progress_of(batch: Batch) -> str:
    """How far a batch is, in one line."""
    return (
        f"batch {batch.id}: {batch.state}, {batch.done:,} done, {batch.refused:,} refused "
        f"of {counted(batch.matched, batch.is_exact)}, at most {batch.rate:g} a second"
    )


def asked_of(batch: Batch) -> str:
    """The batch's act and its filter, in words."""
    said = ", ".join(f"{name} {value}" for name, value in said_of(batch.parameters))
    scope = [*batch.workflows, *(f"{name}={value}" for name, value in batch.labels.items())]
    within = f", within {', '.join(scope)}" if scope else ""
    return f"{batch.verb}{f' ({said})' if said else ''} where {batch.filter}{within}, as of {instant(batch.as_of)}"


def said_of(parameters: BatchParameters) -> list[tuple[str, str]]:
    """The act's parameters, by name."""
    given = {name: getattr(parameters, name) for name in BatchParameters.__struct_fields__ if name != "is_sealed"}
    if parameters.deadline is not None:
        given["deadline"] = instant(parameters.deadline)
    said = [(name.replace("_", " "), str(value)) for name, value in given.items() if value is not None]
    return [("parameters", "encrypted with a key that is not here")] if parameters.is_sealed else said


def part_done(batch: Batch) -> float:
    """The part of its tasks that were asked, 0 to 1."""
    asked = batch.done + batch.refused
    return 1.0 if batch.matched <= asked else asked / batch.matched
