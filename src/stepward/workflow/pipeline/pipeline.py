"""Pipelines: workflows that are declared as a plan, known whole before anything of it has started."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from inspect import Parameter, Signature
from typing import Any

from stepward.durations import Duration
from stepward.errors import DeclarationError
from stepward.model.pipeline_plan import Plan, PlannedStage
from stepward.policies import Supervision
from stepward.workflow.definition import Workflow, checked_name
from stepward.workflow.pipeline.pipeline_run import Flow
from stepward.workflow.pipeline.planning import Placed, placed
from stepward.workflow.pipeline.stages import Stage


class Pipeline(Workflow[..., Any]):
    """A declared plan: its stages, what each waits for and what it passes on; else a workflow like any other.

    ``given`` names the pipeline's own arguments with their types, in order; ``result`` the stage whose result is the
    task's, null without one. Raises DeclarationError for a plan that cannot be followed. Give a changed plan a new
    ``version`` when tasks of the old one are still under way.
    """

    def __init__(
        self,
        name: str,
        stages: Mapping[str, Stage],
        *,
        given: Mapping[str, Any] | None = None,
        result: str | None = None,
        version: str = "1",
        complete_by: Duration | None = None,
        supervision: Supervision = Supervision(),
    ) -> None:
        what = f"pipeline {checked_name(name, 'pipeline')}"
        types = _checked_types(what, {} if given is None else given)
        self.stages: Mapping[str, Placed] = placed(what, stages, types, result)
        gives = None if result is None else self.stages[result].action.signature.result_type
        body = _body(name, self.stages, types, result, gives)
        super().__init__(body, name=name, version=version, complete_by=complete_by, supervision=supervision)

    # Made when it is asked for: undos may be declared below the pipeline.
    @cached_property
    def plan(self) -> Plan:  # type: ignore[override]  # a plan is never assigned
        """The stages as they are recorded."""
        return tuple(_planned(stage) for stage in self.stages.values())


def _checked_types(what: str, given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{what}: expected types by name for given, found {given!r}; write {{'name': str}}")
    for name, kind in given.items():
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise DeclarationError(f"{what}: expected names of parameters for given, found {name!r}; choose another")
        if isinstance(kind, str):
            raise DeclarationError(f"{what}: expected a type for given {name}, found {kind!r}; pass the type itself")
    return dict(given)


def _body(
    name: str, stages: Mapping[str, Placed], given: Mapping[str, Any], result: str | None, gives: Any
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The pipeline as a function, with the signature that callers and schemas see."""
    parameters = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind) for each, kind in given.items()]
    signature = Signature(parameters, return_annotation=gives)

    async def follow(*args: Any, **kwargs: Any) -> Any:
        flow = Flow(stages, signature.bind(*args, **kwargs).arguments)
        await flow.run()
        return None if result is None else flow.result(result)

    body: Any = follow
    body.__name__ = name
    body.__signature__ = signature
    body.__annotations__ = {**given, "return": gives}
    return follow


def _planned(stage: Placed) -> PlannedStage:
    action = stage.action
    return PlannedStage(
        stage=stage.name,
        key=stage.key,
        name=action.name,
        kind=action.kind,
        agent=action.agent,
        complete_seconds=action.complete_seconds,
        has_undo=action.has_undo,
        irreversible=action.irreversible,
        waits_for=stage.waits_for,
    )
