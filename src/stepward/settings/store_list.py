"""The setting ``store``: the address of one store, or of each store of a partitioned application, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepward.errors import SettingsError
from stepward.settings import readers

BETWEEN = re.compile(r"[\s,]+(?=(?:sqlite:///|postgres(?:ql)?://))")
"""What separates addresses in one text: a path may have spaces and commas too."""
MOST_STORES = 16
"""Most stores of one application: each read of all tasks asks every one of them."""


def read_stores(value: object, what: str) -> tuple[str, ...]:
    """The addresses of a list, or of a text with spaces or commas between them. Raises SettingsError."""
    if isinstance(value, str):
        given: Sequence[object] = BETWEEN.split(value.strip()) if BETWEEN.search(value) else [value]
    else:
        given = list(value) if isinstance(value, list | tuple) else [value]
    if not 1 <= len(given) <= MOST_STORES:
        raise SettingsError(f"{what}: expected 1 to {MOST_STORES} stores, found {len(given)}; change the list")
    found = tuple(readers.store(each, what) for each in given)
    for place, each in enumerate(found):
        if each in found[:place]:
            raise SettingsError(
                f"{what}: expected each store once, found the address in place {found.index(each) + 1} again in place "
                f"{place + 1}; name another store there, or leave it out"
            )
    return found
