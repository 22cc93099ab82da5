"""The fields that tasks can be searched by, and the type of each."""

from __future__ import annotations

from enum import StrEnum


class SearchField(StrEnum):
    """A field by its name in a filter; for labels and attributes, the word before the point."""

    ID = "id"
    STATE = "state"
    WORKFLOW = "workflow"
    VERSION = "version"
    LABEL = "label"
    ATTRIBUTE = "attr"
    ERROR_TYPE = "error.type"
    AGENT = "agent"
    STEP = "step"
    PRIORITY = "priority"
    FAILURES = "failures"
    CREATED = "created"
    ENDED = "ended"
    DEADLINE = "deadline"


class FieldKind(StrEnum):
    """The type of a field."""

    TEXT = "a text in quotes"
    STATE = "a state"
    NUMBER = "a number"
    TIME = "a time, such as '2h ago', 'in 30m' or '2026-01-31T12:00:00Z'"
    ANY = "a text in quotes, a number, true or false"


KINDS = {
    SearchField.STATE: FieldKind.STATE,
    SearchField.ATTRIBUTE: FieldKind.ANY,
    SearchField.PRIORITY: FieldKind.NUMBER,
    SearchField.FAILURES: FieldKind.NUMBER,
    SearchField.CREATED: FieldKind.TIME,
    SearchField.ENDED: FieldKind.TIME,
    SearchField.DEADLINE: FieldKind.TIME,
}
"""The types of fields that are not texts."""

NAMED = (SearchField.LABEL, SearchField.ATTRIBUTE)
"""Fields that are followed by a point and a name of the application's: ``attr.customer``."""

ALWAYS_THERE = frozenset(
    {
        SearchField.ID,
        SearchField.STATE,
        SearchField.WORKFLOW,
        SearchField.VERSION,
        SearchField.PRIORITY,
        SearchField.FAILURES,
        SearchField.CREATED,
    }
)
"""Fields that every task has."""


def kind_of(field: SearchField) -> FieldKind:
    """The type of the field."""
    return KINDS.get(field, FieldKind.TEXT)
