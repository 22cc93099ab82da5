"""Payloads: typed JSON in and out, never pickle; limits, and one clear line for a value that does not fit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stepward.error_messages import nearest
from stepward.errors import DeclarationError, InvalidArguments, InvalidPayload, PayloadTooLarge
from stepward.payload.nesting import is_deeper, not_finite, refuse_nested_sets
from stepward.payload.parameters import hints_of, parameters_of, struct_of, without_hooks
from stepward.payload.pydantic_models import hoisted
from stepward.payload.references import ELSEWHERE, shown_reference
from stepward.payload.sealed import BEGINNING, UNOPENED, as_stored, shown_of, why_unopened
from stepward.payload.secret_values import (
    MARKED,
    decode_custom,
    encode_custom,
    holds_secrets,
    redacted,
    schema_of_custom,
)

PAYLOAD_BYTES = 1024 * 1024
DEPTH = 100
SHOWN_BYTES = 200
"""Bytes that operators are shown of a record that is no JSON."""
ADVICE = "store it elsewhere and pass a reference, or raise payload_bytes"
NULL = b"null"
READ_AS_WRITTEN = frozenset({bool, int, str, type(None)})
"""Types whose values, if they become JSON at all, are read back unchanged."""
NESTED = b"[["

FOUND = (
    (re.compile(r"Expected (.+), got (.+?)(?: - at (`.+`))"), r"\2 instead of \1 at \3"),
    (re.compile(r"Expected (.+), got (.+)"), r"\2 instead of \1"),
    (re.compile(r"Expected (.+?)(?: - at (`.+`))"), r"something else than \1 at \2"),
    (re.compile(r"Expected (.+)"), r"something else than \1"),
    (re.compile(r"Object missing required field (.*)"), r"an object without the required field \1"),
    (re.compile(r"(.+) at (`.+`) - at `\$.*`"), r"\1 at \2"),
    (re.compile(r"Encoding objects of type coroutine is unsupported"), "a coroutine: was an `await` forgotten?"),
    (re.compile(r"Encoding objects of type (.+) is unsupported"), r"an object of type \1"),
)
"""Phrases of msgspec about values that do not fit, and how messages phrase them."""

_encoder = msgspec.json.Encoder(order="deterministic", enc_hook=encode_custom)


def encode(value: object, what: str, *, limit: int = PAYLOAD_BYTES, advice: str = ADVICE) -> bytes:
    """``value`` as JSON bytes, the same bytes for equal values whatever the hash seed.

    Raises InvalidPayload (not JSON, NaN, nested over 100 levels) or PayloadTooLarge, naming ``what``; ``advice`` says
    what helps against the latter.
    """
    try:
        data = _encoder.encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise InvalidPayload(f"{what}: expected a value that JSON can hold, found {cause(error)}") from None
    size = len(data)
    if size > DEPTH or size > limit:  # Shorter ones are neither too long nor too deep.
        check_size(data, what, limit=limit, advice=advice)
    if NULL in data:
        found = not_finite(msgspec.to_builtins(value, enc_hook=encode_custom))
        if found is not None:
            raise InvalidPayload(f"{what}: expected numbers that JSON can hold, found {found}; send null or text")
    if NESTED in data:
        refuse_nested_sets(value, what)
    return data


def check_size(data: bytes, what: str, *, limit: int = PAYLOAD_BYTES, advice: str = ADVICE) -> None:
    """Raise for bytes over ``limit`` or nested over 100 levels."""
    if len(data) > limit:
        raise PayloadTooLarge(f"{what}: expected at most {limit:,} bytes of JSON, found {len(data):,}; {advice}")
    if len(data) > DEPTH and is_deeper(data, DEPTH):
        raise InvalidPayload(f"{what}: expected at most {DEPTH} nested levels, found more; flatten it")


def decode(data: bytes, what: str, kind: Any = Any) -> Any:
    """The value of JSON bytes as ``kind``; raises InvalidPayload naming ``what``."""
    if data.startswith(ELSEWHERE):
        raise _elsewhere(what)
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=decode_custom)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        wanted = "JSON" if kind is Any else f"JSON that fits {_name(kind)}"
        raise InvalidPayload(f"{what}: expected {wanted}, found {_found(data, error)}") from None


def cause(error: Exception) -> str:
    """The cause, as the end of a sentence that already says what was expected."""
    if isinstance(error, RecursionError):
        return "nesting too deep"
    for said, found in FOUND:
        if match := said.fullmatch(str(error)):
            return match.expand(found)
    return str(error)


def _elsewhere(what: str) -> InvalidPayload:
    """The error for a reference: what it stands for was to be fetched."""
    found = "a reference to one outside the store; give this process large_payloads"
    return InvalidPayload(f"{what}: expected a value, found {found}")


def _found(data: bytes, error: Exception) -> str:
    """The cause; of an encrypted payload that could not be opened, or one that could not be fetched, why not."""
    reason = why_unopened(data)
    if reason is None:
        return cause(error)
    is_outside = (as_stored(data) or b"").startswith(ELSEWHERE)
    return f"that it is {'kept outside the store' if is_outside else 'encrypted'}, and {reason}"


def is_json(data: bytes) -> bool:
    """Whether the bytes are one JSON value."""
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return True


def readable(data: bytes | None) -> Any:
    """The value of recorded bytes, None for none; for bytes that are no JSON, an object that shows their beginning.

    Of an encrypted payload it is an object with the id of its key and the fields that stay readable; of one that is
    kept outside the store, an object with its name, length and digest.
    """
    if not data:
        return None
    if data.startswith((UNOPENED, *ELSEWHERE)) and (outside := _shown_outside(data)) is not None:
        return outside
    if data.startswith((BEGINNING, UNOPENED)) and (shown := shown_of(data)) is not None:
        return shown
    if not is_json(data):
        return {"unreadable": repr(data[:SHOWN_BYTES])[2:-1], "bytes": len(data)}
    return msgspec.json.decode(data)


def _shown_outside(data: bytes) -> dict[str, Any] | None:
    stored = as_stored(data) or data
    shown = shown_reference(stored)
    if shown is None and stored.startswith(ELSEWHERE):
        shown = {"kept_outside_the_store": "parts of it"}
    reason = why_unopened(data)
    return shown if shown is None or reason is None else {**shown, "reason": reason}


def displayed(data: bytes | None) -> Any:
    """As ``readable``, with asterisks in place of secrets: what operators see."""
    value = readable(data)
    return redacted(value) if data and MARKED in data else value


class Signature:
    """A callable's parameters and result as JSON: the arguments are one array with an element per parameter."""

    def __init__(self, fn: Callable[..., Any], what: str, *, skip: int = 0) -> None:
        self.what = what
        self._arguments_of = f"arguments of {what}"
        self.result_of = f"result of {what}"
        parameters = parameters_of(fn, what)[skip:]
        hints = hints_of(fn, what)
        # Resolved, so that messages show types instead of the quotes of postponed annotations.
        self._signature = inspect.Signature([p.replace(annotation=hints.get(p.name, p.annotation)) for p in parameters])
        self._count = len(parameters)
        self._named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        self._decoder = _decoder(struct_of(what, parameters, hints), what)
        self.result_type = hints.get("return", Any)
        """The declared return type."""
        self._result = _decoder(without_hooks(self.result_type), what)
        self._has_secrets = any(holds_secrets(hint) for name, hint in hints.items() if name != "return")

    def pack(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        limit: int = PAYLOAD_BYTES,
        options: Iterable[str] = (),
    ) -> bytes:
        """The arguments as a JSON array; raises InvalidArguments, InvalidPayload or PayloadTooLarge.

        ``options`` are other names that the caller takes: an unknown name may be one of them, misspelt.
        """
        if kwargs or self._named or len(args) != self._count:
            args = self._bind(args, kwargs, options)
        data = encode(args, self._arguments_of, limit=limit)
        if self._has_secrets:
            self.unpack(data)
            # Plain values for secrets are read as secrets, and written as such.
            return encode(self._decoder.decode(data), self._arguments_of, limit=limit)
        return data

    def unpack(self, data: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword-only arguments, converted to the declared types; raises InvalidArguments."""
        try:
            values = msgspec.structs.astuple(self._decoder.decode(data))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise InvalidArguments(
                f"arguments of {self.what}: expected {self.text()}, found {_found(data, error)}; pass values that fit"
            ) from None
        if not self._named:
            return values, {}
        split = self._count - len(self._named)
        return values[:split], dict(zip(self._named, values[split:], strict=True))

    def result(self, data: bytes) -> Any:
        """A recorded result as the declared return type; raises InvalidPayload."""
        if data.startswith(ELSEWHERE):
            raise _elsewhere(self.result_of)
        try:
            return self._result.decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise InvalidPayload(
                f"result of {self.what}: expected {_name(self.result_type)}, found {_found(data, error)}"
            ) from None

    def check_returned(self, value: Any, data: bytes) -> None:
        """Raise InvalidPayload unless ``data``, the JSON of a returned value, reads as the declared type."""
        kind, declared = type(value), self._result.type
        # ``msgspec.Raw`` becomes part of the JSON as it is, also where any value is declared.
        if kind not in READ_AS_WRITTEN or declared not in (kind, Any):
            self.result(data)

    def check_result(self, data: bytes) -> None:
        """Raise InvalidPayload for a result that is not of the declared type."""
        if self._result.type is not Any:
            self.result(data)

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """The parameters with resolved annotations; a parameter without an annotation takes any value."""
        return tuple(self._signature.parameters.values())

    def text(self) -> str:
        """The parameters in Python's notation."""
        return str(self._signature)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the argument array with its defaults; raises DeclarationError for types that have none."""
        try:
            schema = hoisted(msgspec.json.schema(self._decoder.type, schema_hook=schema_of_custom))
            array: dict[str, Any] = schema["$defs"][schema["$ref"].rpartition("/")[2]]
            places: list[dict[str, Any]] = array["prefixItems"]
            for place, parameter in zip(places, self._signature.parameters.values(), strict=True):
                if parameter.default is not parameter.empty:
                    place["default"] = msgspec.to_builtins(parameter.default, str_keys=True, enc_hook=encode_custom)
            if not places:
                del array["prefixItems"]  # JSON Schema allows no empty one
            return schema
        except TypeError as error:
            found = str(error).splitlines()[-1]
            raise DeclarationError(
                f"{self.what}: expected parameter types with a JSON Schema, found: {found}; annotate others"
            ) from None

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: Iterable[str]) -> tuple[Any, ...]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            unknown = next((name for name in kwargs if name not in self._signature.parameters), "")
            found = f"the unknown argument {unknown!r}" if unknown else str(error)
            advice = nearest(unknown, [*self._signature.parameters, *options]) or "pass values that fit"
            raise InvalidArguments(
                f"arguments of {self.what}: expected {self.text()}, found: {found}; {advice}"
            ) from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())


def _decoder(kind: Any, what: str) -> msgspec.json.Decoder[Any]:
    try:
        return msgspec.json.Decoder(kind, dec_hook=decode_custom)
    except TypeError as error:
        raise DeclarationError(
            f"{what}: expected types that JSON can tell apart, found: {error}; annotate otherwise"
        ) from None


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
