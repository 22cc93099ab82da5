"""The check that a process has the keys of its store, made before it does anything there."""

from __future__ import annotations

from typing import Protocol

from stepward.errors import StoreUnusable
from stepward.payload.sealed import PayloadCodec, why_unopened

MARKED = b'"stepward"'
"""What each key seals once, to distinguish it from another key under the same id."""
PLACE = "key"


class MarkedKeys(Protocol):
    """The part of a store that knows the keys of its payloads."""

    async def key_marks(self) -> dict[str, str]:
        """As ``HostStore.key_marks``."""
        ...

    async def keep_key_mark(self, key: str, mark: str) -> None:
        """As ``HostStore.keep_key_mark``."""
        ...


async def check_keys(store: MarkedKeys, codec: PayloadCodec | None) -> None:
    """Raise StoreUnusable unless every key that the store's payloads were encrypted with is here.

    An operator's process without any key passes: it sees that payloads are encrypted.
    """
    marks = await store.key_marks()
    if codec is not None:
        await codec.load(marks)
    if codec is None or codec.current is not None:
        for key, mark in sorted(marks.items()):
            _check_key(key, mark, codec)


async def mark_key(store: MarkedKeys, codec: PayloadCodec | None) -> None:
    """Note which key this process encrypts with, for the checks of others."""
    if codec is not None and codec.current is not None and codec.current not in await store.key_marks():
        await store.keep_key_mark(codec.current, codec.seal(MARKED, "", PLACE).decode())


def _check_key(key: str, mark: str, codec: PayloadCodec | None) -> None:
    if codec is None or not codec.has_key(key):
        found = "none" if codec is None else f"only others, such as {codec.current}"
        raise StoreUnusable(
            f"encryption: expected the key {key}, with which payloads of this store are encrypted, found {found}; "
            "give it in STEPWARD_ENCRYPTION"
        )
    if why_unopened(codec.open(mark.encode(), "", PLACE)) is not None:
        raise StoreUnusable(
            f"encryption: expected the key {key} with which payloads of this store are encrypted, found another key "
            "under that id; give the right one"
        )
