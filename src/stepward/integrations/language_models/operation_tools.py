"""Operations as tools of a model: the same parameters, and an approval before the call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from stepward.errors import DeclarationError, StepFailed
from stepward.model.action import Action
from stepward.payload import decode, encode

Approval = Action[[str, dict[str, Any]], bool]
"""An operation that is asked about a call: the tool's name and arguments; anything but True refuses it."""
REFUSED = "The call was not approved."


def tool_function(operation: Action[..., Any], approval: Approval | None) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A function with the parameters and the docstring of ``operation``, which calls it as a step of the workflow.

    With ``approval`` that operation is called first; unless its result is True, the function returns a refusal for the
    model to read, and ``operation`` is not called.
    """
    for given in (operation, approval):
        if not isinstance(given, Action | None):
            raise DeclarationError(
                f"operation_tool: expected an operation, a step or a workflow, found {given!r:.80}; "
                "decorate the function with @agent.operation"
            )
    signature = inspect.signature(operation.fn)

    @functools.wraps(operation.fn)
    async def call(*args: Any, **kwargs: Any) -> Any:
        if approval is not None:
            arguments = _as_json(signature.bind(*args, **kwargs).arguments, operation.name)
            refusal = await _refusal(approval, operation.name, arguments)
            if refusal is not None:
                return refusal
        return await operation(*args, **kwargs)

    return call


def short_name(operation: Action[..., Any]) -> str:
    """The tool's name: that of the operation without its Agent's, in characters that every provider takes."""
    return operation.name.rpartition(".")[2].replace(":", "_")


async def _refusal(approval: Approval, tool: str, arguments: dict[str, Any]) -> str | None:
    """What the model reads in place of a result; None for a call that is approved."""
    try:
        approved = await approval(tool, arguments)
    except StepFailed as error:
        return f"{REFUSED} {error}"
    return None if approved is True else REFUSED


def _as_json(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    read: dict[str, Any] = decode(encode(arguments, f"arguments of {name}"), f"arguments of {name}")
    return read
