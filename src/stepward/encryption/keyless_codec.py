"""The codec of operators without a key."""

from __future__ import annotations

from collections.abc import Collection

from stepward.errors import Refused
from stepward.payload.sealed import is_sealed, unopened

NO_KEY = "this process has no key; set STEPWARD_ENCRYPTION"


class KeylessCodec:
    """Implements ``PayloadCodec`` for operators without a key: they see that payloads are encrypted, and write none.

    In a store without encrypted payloads they write payloads as they are.
    """

    current = None

    def __init__(self) -> None:
        self._is_encrypted = True

    def has_key(self, key: str) -> bool:
        return False

    async def load(self, keys: Collection[str] = ()) -> None:
        self._is_encrypted = bool(keys)

    def seal(self, data: bytes, owner: str, place: str, shown: bytes = b"") -> bytes:
        if not self._is_encrypted:
            return data
        what = place.partition("\0")[0]
        raise Refused(
            f"{what}: expected a key, as this store's payloads are encrypted, found none; set STEPWARD_ENCRYPTION"
        )

    def open(self, data: bytes, owner: str, place: str) -> bytes:
        return unopened(data, NO_KEY) if is_sealed(data) else data
