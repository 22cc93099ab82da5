"""Checking a declared plan and putting it in order, when the module that declares it is imported.

Each refusal is one DeclarationError that names the pipeline, the stage and what to do.
"""

from __future__ import annotations

import heapq
import reprlib
from collections import Counter
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from stepward.errors import DeclarationError
from stepward.model.action import Action
from stepward.workflow.definition import checked
from stepward.workflow.pipeline.argument_checks import Types, arguments, check_given, is_known, known_are
from stepward.workflow.pipeline.stages import From, Given, Stage

MOST_STAGES = 1_000


class Placed(NamedTuple):
    """A stage in its place: under the key of its step, with what it waits for and what waits for it."""

    name: str
    key: str
    action: Action[Any, Any]
    arguments: tuple[Any, ...]
    waits_for: tuple[str, ...]
    followers: tuple[str, ...]


def placed(what: str, stages: Mapping[str, Stage], given: Mapping[str, Any], result: str | None) -> dict[str, Placed]:
    """The stages in the order of the plan: each after those that it waits for, else as declared."""
    _check_stages(what, stages)
    waits = {name: _waits_for(f"{what}, stage {name}", stage, stages) for name, stage in stages.items()}
    order = _ordered(what, waits)
    check_given(what, stages, given)
    if result is not None and not is_known(result, stages):
        raise DeclarationError(f"{what}: expected a stage for result, found {result!r}; {known_are('stages', stages)}")
    types: Types = {Given(name): kind for name, kind in given.items()}
    types |= {From(name): stage.action.signature.result_type for name, stage in stages.items()}
    keys = _keys(order, stages)
    followers = _followers(order, waits)
    return {
        name: Placed(
            name,
            keys[name],
            stages[name].action,
            arguments(f"{what}, stage {name}", stages[name], types),
            waits[name],
            tuple(followers[name]),
        )
        for name in order
    }


def _check_stages(what: str, stages: object) -> None:
    if not isinstance(stages, Mapping) or not 0 < len(stages) <= MOST_STAGES:
        found = f"{len(stages):,}" if isinstance(stages, Mapping) else reprlib.repr(stages)
        raise DeclarationError(
            f"{what}: expected 1 to {MOST_STAGES:,} stages by name, found {found}; declare one at least, "
            "and make parts of a larger plan pipelines of their own"
        )
    for name, stage in stages.items():
        checked(name, f"name of a stage of {what}")
        if not isinstance(stage, Stage):
            raise DeclarationError(f"{what}, stage {name}: expected Stage(…), found {reprlib.repr(stage)}; wrap it")
        if not isinstance(stage.action, Action):
            raise DeclarationError(
                f"{what}, stage {name}: expected an operation, a local step or a workflow, found "
                f"{reprlib.repr(stage.action)}; declare it as one of them"
            )


def _waits_for(what: str, stage: Stage, stages: Mapping[str, Stage]) -> tuple[str, ...]:
    """The names of the stages that are waited for, each once, in the order of their declaration."""
    after: object = stage.after
    if isinstance(after, str) or not isinstance(after, Collection):
        raise DeclarationError(f"{what}: expected a list of stages for after, found {after!r}; write [{after!r}]")
    named = [*after, *(argument.stage for argument in stage.arguments if isinstance(argument, From))]
    for name in named:
        if not is_known(name, stages):
            raise DeclarationError(
                f"{what}: expected a stage to wait for, found {name!r}; {known_are('stages', stages)}"
            )
    # As declared, and not as a set happens to iterate: every process makes the same plan.
    places = {name: place for place, name in enumerate(stages)}
    return tuple(sorted(set(named), key=places.__getitem__))


def _ordered(what: str, waits: Mapping[str, Collection[str]]) -> list[str]:
    sorter = TopologicalSorter(waits)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise DeclarationError(
            f"{what}: expected stages that do not wait for one another in a circle, found {circle}; "
            "let one of them wait for less"
        ) from None
    places = {name: place for place, name in enumerate(waits)}
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, (places[name], name))
        order.append(heapq.heappop(ready)[1])
        sorter.done(order[-1])
    return order


def _followers(order: list[str], waits: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Which stages wait for each, in the order of the plan."""
    followers: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for source in waits[name]:
            followers[source].append(name)
    return followers


def _keys(order: list[str], stages: Mapping[str, Stage]) -> dict[str, str]:
    """Steps are keyed by name and occurrence; here the plan's order counts, whichever stage starts first."""
    counts: Counter[str] = Counter()
    keys: dict[str, str] = {}
    for name in order:
        action = stages[name].action.name
        counts[action] += 1
        keys[name] = f"{action}/{counts[action]}"
    return keys
