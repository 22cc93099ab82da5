"""Seals the payloads among a query's parameters, and opens those of its rows: the one place where a store does either.

Engines ask it by the name or the text of each query; verbs and rules see payloads as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from stepward.model.effects import SET_ASIDE, SUFFIX
from stepward.model.messages.cloudevents import OURS
from stepward.payload.sealed import PLAIN_ALERTS, SHOWN_KEY, PayloadCodec, is_sealed, shown_of, why_unopened
from stepward.store.sealing.columns import (
    ACT_GIVEN,
    GIVEN,
    PLAIN_FIELDS,
    SHOWN,
    Columns,
    PayloadForm,
    SealedColumn,
)

NOTHING = (None, b"", b"{}", "", "{}")
"""Cells that are stored as they are: nothing, a planned step's input, details without any."""
EVENT_ID = b'"id":"'
EVENT_DATA = b'"data":'
EVENT_QUEUES = ("replies.", "webhooks.")
OF_STEP = 3
"""What a payload of a step is bound to: the task, the run, the key."""
PLACES_KEPT = 4096

Cells = Sequence[Any]


class RowCodec:
    """The codec of one store object. ``given`` and ``shown`` list columns by what an engine calls its queries."""

    def __init__(
        self,
        codec: PayloadCodec,
        given: Mapping[str, Columns] = GIVEN,
        shown: Mapping[str, Columns] = SHOWN,
    ) -> None:
        self.codec = codec
        self._given = given
        self._shown = shown

    def sealed(self, query: str, values: Cells) -> Cells:
        """The parameters of a query with payloads sealed; a list is a column of many rows."""
        columns = self._given.get(query)
        return values if columns is None else self._with(columns, values)

    def sealed_rows(self, query: str, rows: Iterable[Cells]) -> Iterable[Cells]:
        """Rows of parameters with payloads sealed."""
        columns = self._given.get(query)
        return rows if columns is None else [self._sealed_row(columns, row) for row in rows]

    def opened(self, query: str, rows: list[Any]) -> list[Any]:
        """The rows of a query with payloads opened."""
        columns = self._shown.get(query)
        return rows if columns is None else [self._opened_row(columns, row) for row in rows]

    def acts(self, acts: Sequence[Cells]) -> list[tuple[Any, ...]]:
        """Acts of the audit before they are linked: its hashes are those of what is stored."""
        return [tuple(self._sealed_row(ACT_GIVEN, act)) for act in acts]

    def _with(self, columns: Columns, values: Cells) -> list[Any]:
        """Parameters of which some are whole columns."""
        changed = list(values)
        for column in columns:
            payloads = values[column.place]
            if isinstance(payloads, list | tuple):
                cells = [_cells(values[place], len(payloads)) for place in column.bound]
                bound = zip(*cells, strict=True) if cells else [()] * len(payloads)
                kinds = [None] * len(payloads) if column.unless is None else values[column.unless]
                changed[column.place] = [
                    payload if payload in NOTHING or kind in PLAIN_ALERTS else self._sealed(column, payload, to)
                    for payload, to, kind in zip(payloads, bound, kinds, strict=True)
                ]
            elif payloads not in NOTHING:
                changed[column.place] = self._sealed(column, payloads, [values[place] for place in column.bound])
        return changed

    def _sealed_row(self, columns: Columns, row: Cells) -> list[Any]:
        changed = list(row)
        seal = self.codec.seal
        for column in columns:
            place, kind, bound, form, unless = column
            payload = row[place]
            if payload is None or payload in NOTHING or (unless is not None and row[unless] in PLAIN_ALERTS):
                continue
            if form is PayloadForm.JSON and len(bound) == OF_STEP:
                # What most rows have goes the shortest way.
                changed[place] = seal(payload, row[bound[0]], _step_place(kind, row[bound[1]], row[bound[2]]))
            else:
                changed[place] = self._sealed(column, payload, [row[each] for each in bound])
        return changed

    def _opened_row(self, columns: Columns, row: Cells) -> list[Any]:
        changed = list(row)
        opened = self.codec.open
        for column in columns:
            place, kind, bound, form, unless = column
            payload = row[place]
            if payload is None or payload in NOTHING or (unless is not None and row[unless] in PLAIN_ALERTS):
                continue
            if form is PayloadForm.TEXT:
                changed[place] = self._opened_text(column, payload, [row[each] for each in bound])
            elif len(bound) == OF_STEP:
                changed[place] = opened(payload, row[bound[0]], _step_place(kind, row[bound[1]], row[bound[2]]))
            else:
                changed[place] = opened(payload, (row[bound[0]] or "") if bound else "", kind)
        return changed

    def _sealed(self, column: SealedColumn, payload: Any, bound: Cells) -> Any:
        form, owner = column.form, (bound[0] or "") if bound else ""
        if form is PayloadForm.JSON:
            return self.codec.seal(payload, owner, _place(column, bound))
        if form is PayloadForm.TEXT:
            return self.codec.seal(payload.encode(errors="surrogatepass"), owner, _place(column, bound)).decode()
        if form is PayloadForm.EVENT:
            return sealed_event(self.codec, payload) if owner.startswith(EVENT_QUEUES) else payload
        if form is PayloadForm.ACT and _is_plain(payload):
            return payload
        return self.codec.seal(payload, owner, _place(column, bound), _shown(payload, form.value))

    def _opened_text(self, column: SealedColumn, payload: str, bound: Cells) -> str:
        owner = (bound[0] or "") if bound else ""
        found = self.codec.open(payload.encode(), owner, _place(column, bound))
        shown = None if why_unopened(found) is None else shown_of(found)
        return found.decode(errors="surrogatepass") if shown is None else f"(encrypted with key {shown[SHOWN_KEY]})"


def sealed_event(codec: PayloadCodec, event: bytes) -> bytes:
    """A status event with its data sealed; they come last in it."""
    at = event.find(EVENT_DATA)
    if not event.startswith(OURS) or at < 0:
        return event
    data = event[at + len(EVENT_DATA) : -1]
    if is_sealed(data):
        return event
    id_at = event.index(EVENT_ID) + len(EVENT_ID)
    ident = event[id_at : event.index(b'"', id_at)].decode()
    return event[: at + len(EVENT_DATA)] + codec.seal(data, ident, "event.data") + b"}"


def step_place(key: str) -> str:
    """What names a step for good: a repair that sets its row aside, or undoes it, changes nothing of that."""
    base = key.partition(SET_ASIDE)[0]
    return base + SUFFIX if SUFFIX in key else base


def _place(column: SealedColumn, bound: Cells) -> str:
    return column.kind if len(bound) < OF_STEP else _step_place(column.kind, bound[1], bound[2])


@lru_cache(PLACES_KEPT)
def _step_place(kind: str, run: object, key: str) -> str:
    """The place of a payload of a step, or of an inbox row by its kind and name."""
    return f"{kind}\0{run}\0{step_place(key) if kind.startswith('step.') else key}"


def _cells(values: Any, count: int) -> Cells:
    """A column, also of what is one value for all rows."""
    return values if isinstance(values, list | tuple) else [values] * count


def _is_plain(details: bytes) -> bool:
    """Whether the details of an act quote no payload; an act is recorded without a key then."""
    fields = msgspec.json.decode(details)
    return isinstance(fields, dict) and fields.keys() <= PLAIN_FIELDS


def _shown(payload: bytes, names: Sequence[str]) -> bytes:
    """The fields that stay readable, as the rest of a JSON object."""
    try:
        fields = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b""
    if not isinstance(fields, dict):
        return b""
    kept = {name: fields[name] for name in names if isinstance(fields.get(name), str | int | bool)}
    return b"," + msgspec.json.encode(kept)[1:-1] if kept else b""
