"""What docs/asyncapi.json says of the wire, held against what really travels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cloudevents.core.exceptions import CloudEventValidationError
from cloudevents.core.formats.json import JSONFormat
from jsonschema import Draft202012Validator

PAGE = Path(__file__).parents[3] / "docs" / "asyncapi.json"
BATCH, SINGLE = "application/cloudevents-batch+json", "application/cloudevents+json"
ANY = "of any type"
TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01")
NAME = re.compile(r"[a-z0-9]{1,20}|data_base64")


@dataclass(frozen=True)
class Tapped:
    """A message as a broker carried it."""

    address: str
    body: bytes
    content_type: str | None = None
    """Where the broker knows any."""


class Described:
    """The document of one broker's channels."""

    def __init__(self, broker: str) -> None:
        self._document = json.loads(PAGE.read_text(encoding="utf-8"))
        self._channels = {key: value for key, value in self._document["channels"].items() if key.startswith(broker)}
        self._part = "[A-Za-z0-9_=-]+" if broker == "nats" else "[A-Za-z0-9_.-]+"
        self.seen: set[str] = set()
        """The messages that were understood, each as its channel and its kind."""

    @property
    def told(self) -> set[str]:
        """All messages of the document's, as ``seen`` names them."""
        return {f"{key} {kind}" for key, channel in self._channels.items() for kind in self._kinds(channel)}

    def complaints(self, tapped: Tapped) -> list[str]:
        """What of the message the document does not say."""
        channel = self._channel(tapped.address)
        if channel is None:
            return [f"no channel has the address {tapped.address}"]
        try:
            body = json.loads(tapped.body.decode(), parse_constant=_refuse)
        except ValueError as error:
            return [f"no JSON: {error}"]
        is_batch = isinstance(body, list)
        found = [
            each for event in (body if is_batch else [body]) for each in self._complaints(channel, event, is_batch)
        ]
        if tapped.content_type not in (None, BATCH if is_batch else SINGLE):
            found.append(f"{channel}: {tapped.content_type} is another content type")
        return found

    def place(self, address: str) -> dict[str, Any]:
        """The description of the channel at an address, with its names filled in."""
        channel = self._channels[self._channel(address) or ""]
        names = re.fullmatch(self._pattern(channel), address)
        assert names is not None, address
        filled = json.dumps(channel)
        for name, value in names.groupdict().items():
            filled = filled.replace(f"{{{name}}}", value)
        found: dict[str, Any] = json.loads(filled)
        return found

    def _complaints(self, channel: str, event: Any, is_batch: bool) -> Iterator[str]:
        kinds = self._kinds(self._channels[channel])
        kind = event.get("type") if isinstance(event, dict) else None
        found = kinds.get(str(kind)) or kinds.get(ANY)
        if kind is None or found is None:
            yield f"{channel}: expected one of {', '.join(sorted(kinds))}, found {kind}"
            return
        schema, is_wanted_batch = found
        if is_batch != is_wanted_batch:
            yield f"{channel}: expected {kind} {'in a batch' if is_wanted_batch else 'alone'}"
        validator = Draft202012Validator({**self._document, "$ref": schema})
        yield from (f"{kind}: {error.json_path}: {error.message}" for error in validator.iter_errors(event))
        yield from (f"{kind}: {name} is not described" for name in sorted(set(event) - self._properties(schema)))
        yield from (f"{kind}: {name}" for name in _no_cloud_event(event))
        self.seen.add(f"{channel} {kind if kind in kinds else ANY}")

    def _channel(self, address: str) -> str | None:
        for key, channel in self._channels.items():
            if re.fullmatch(self._pattern(channel), address):
                return str(key)
        return None

    def _pattern(self, channel: Mapping[str, Any]) -> str:
        return re.sub(r"\\{(\w+)\\}", rf"(?P<\1>{self._part})", re.escape(channel["address"]))

    def _kinds(self, channel: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
        """The schemas of a channel's events by type, each with whether it travels in a batch."""
        kinds: dict[str, tuple[str, bool]] = {}
        for reference in channel["messages"].values():
            message = self._at(reference["$ref"])
            is_batch = message["contentType"] == BATCH
            payload = message["payload"]["items"] if is_batch else message["payload"]
            for one in payload.get("oneOf", [payload]):
                kinds[self._type(one["$ref"])] = one["$ref"], is_batch
        return kinds

    def _type(self, reference: str) -> str:
        schema = self._at(reference)
        parts = [schema, *schema.get("allOf", ())]
        kinds = [part["properties"]["type"] for part in parts if "properties" in part]
        return next((str(kind["enum"][0]) for kind in kinds if "enum" in kind), ANY)

    def _properties(self, reference: str) -> set[str]:
        schema = self._at(reference)
        inherited = [self._properties(part["$ref"]) for part in schema.get("allOf", ()) if "$ref" in part]
        return set(schema.get("properties", ())).union(*inherited)

    def _at(self, reference: str) -> Any:
        found = self._document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return found


def _no_cloud_event(event: Mapping[str, Any]) -> Iterator[str]:
    """What CloudEvents 1.0 does not allow, beyond what the schema says."""
    try:
        JSONFormat().read(None, json.dumps(event))
    except CloudEventValidationError as error:
        yield f"the CloudEvents reader refuses it: {error}"
    except ValueError as error:
        yield f"the CloudEvents reader cannot read it: {error}"
    for name, value in event.items():
        if not NAME.fullmatch(name):
            yield f"{name!r} is no name of an attribute"
        elif name != "data" and not isinstance(value, bool | int | str):
            yield f"{name} is no value of an attribute"
    if "data" in event and "data_base64" in event:
        yield "data twice"
    if "traceparent" in event and not TRACE.fullmatch(event["traceparent"]):
        yield f"traceparent is none of W3C's: {event['traceparent']}"
    for name in ("time", "expirytime"):
        if name in event and not _is_instant(event[name]):
            yield f"{name} is no instant: {event[name]}"


def _is_instant(text: str) -> bool:
    try:
        return "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON's")
