"""Checks of the arguments of a plan's stages: each is known, used and of a type that fits."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from inspect import Parameter, formatannotation
from typing import Any

from stepward.errors import DeclarationError, Refused
from stepward.payload import decode, encode
from stepward.workflow.pipeline.stages import From, Given, Stage
from stepward.workflow.pipeline.type_compatibility import fits

Types = dict[Given | From, Any]
"""What each argument of a stage may be, as far as it is declared."""


def check_given(what: str, stages: Mapping[str, Stage], given: Mapping[str, Any]) -> None:
    """Refuse arguments of the pipeline that are not declared, or not used."""
    used: set[str] = set()
    for name, stage in stages.items():
        for argument in stage.arguments:
            if isinstance(argument, Given):
                if not is_known(argument.name, given):
                    raise DeclarationError(
                        f"{what}, stage {name}: expected an argument of the pipeline, found {argument!r}; "
                        f"{known_are('given', given)}"
                    )
                used.add(argument.name)
    unused = [name for name in given if name not in used]
    if unused:
        raise DeclarationError(
            f"{what}: expected each argument to be used, found no stage with Given({unused[0]!r}); leave it out"
        )


def arguments(what: str, stage: Stage, types: Types) -> tuple[Any, ...]:
    """The arguments of a stage, as many and of such types as its parameters take."""
    parameters = stage.action.signature.parameters
    places = [parameter for parameter in parameters if parameter.kind is not Parameter.KEYWORD_ONLY]
    needed = [parameter.name for parameter in parameters if parameter.default is Parameter.empty]
    missing = [name for name in needed if name not in {place.name for place in places[: len(stage.arguments)]}]
    if missing or len(stage.arguments) > len(places):
        problem = f"none for {missing[0]}" if missing else f"{len(stage.arguments)}"
        raise DeclarationError(
            f"{what}: expected arguments for {stage.action.name}{stage.action.signature.text()} by position, "
            f"found {problem}; pass one for each parameter without a default"
        )
    return tuple(_argument(what, *each, types) for each in zip(places, stage.arguments, strict=False))


def _argument(what: str, parameter: Parameter, argument: Any, types: Types) -> Any:
    kind = Any if parameter.annotation is Parameter.empty else parameter.annotation
    if not isinstance(argument, Given | From):
        return _constant(f"{what}, {parameter.name}", argument, kind)
    if not fits(types[argument], kind):
        raise DeclarationError(
            f"{what}: expected {formatannotation(kind)} for {parameter.name}, found {argument!r}, which is "
            f"{formatannotation(types[argument])}; pass what fits"
        )
    return argument


def _constant(what: str, value: Any, kind: Any) -> Any:
    """A copy, as plain JSON: a change of the original cannot change what a replay asks for."""
    try:
        data = encode(value, what)
        decode(data, what, kind)
    except Refused as error:
        raise DeclarationError(f"{error}; pass a plain value that fits, Given(…) or From(…)") from None
    return decode(data, what)


def is_known(name: object, names: Collection[str]) -> bool:
    """Whether that is one of the names, whatever it is."""
    return isinstance(name, str) and name in names


def known_are(what: str, names: Collection[str]) -> str:
    """The names that there are, for a message."""
    return f"{what}: {reprlib.repr(list(names))[1:-1]}" if names else f"there are no {what}"
