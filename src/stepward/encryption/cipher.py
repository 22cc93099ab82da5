"""AES-256-GCM over payloads, each with a key of its task's and bound to its place.

The key of a task is derived from the application's, so that the bound on messages under one key with random nonces,
2**32 of them, is one for each task.
"""

from __future__ import annotations

import hmac
import os
from binascii import b2a_base64
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stepward.encryption.keys import Encryption
from stepward.sealed import BEGINNING, as_stored, envelope, is_sealed, unopened

NONCE_BYTES = 12
DERIVED_KEPT = 4096
"""Keys of tasks that are kept derived."""
LENIENT = "surrogatepass"
"""Names that no store takes are refused by the store, in its words."""
LABEL = b"stepward payload 1\0"
TAG_BYTES = 16


class PayloadCipher:
    """Implements ``PayloadCodec`` for one application with its keys."""

    def __init__(self, app: str, encryption: Encryption) -> None:
        self.encryption = encryption
        self._app = app.encode() + b"\0"
        self._current = self.current = encryption.current
        self._beginning = BEGINNING + encryption.current.encode() + b'","data":"'
        self._cipher = lru_cache(DERIVED_KEPT)(self._derived)

    async def load(self, keys: Collection[str] = ()) -> None:
        await self.encryption.load(keys)

    def has_key(self, key: str) -> bool:
        return key in self.encryption.keys

    def seal(self, data: bytes, owner: str, place: str, shown: bytes = b"") -> bytes:
        stored = as_stored(data)
        if stored is not None:
            return stored
        nonce = os.urandom(NONCE_BYTES)
        found = self._cipher(self._current, owner)
        sealed = found.encrypt(nonce, data, place.encode(errors=LENIENT))
        return self._beginning + b2a_base64(nonce + sealed, newline=False) + b'"' + shown + b"}"

    def open(self, data: bytes, owner: str, place: str) -> bytes:
        if not is_sealed(data):
            return data
        found = envelope(data)
        if found is None:
            return unopened(data, "it is not whole; restore it from a backup")
        if found.key not in self.encryption.keys:
            return unopened(data, f"this process has no key {found.key}; give it the key")
        nonce, sealed = found.data[:NONCE_BYTES], found.data[NONCE_BYTES:]
        if len(sealed) >= TAG_BYTES:
            with suppress(InvalidTag):
                return self._cipher(found.key, owner).decrypt(nonce, sealed, place.encode(errors=LENIENT))
        return unopened(
            data, "it was changed, moved from another place, or encrypted with another key of that id; restore it"
        )

    def _derived(self, key: str, owner: str) -> AESGCM:
        derived = hmac.digest(self.encryption.keys[key], LABEL + self._app + owner.encode(errors=LENIENT), "sha256")
        return AESGCM(derived)
