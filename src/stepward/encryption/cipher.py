"""AES-256-GCM over payloads, each bound to its application, its task and its place.

A process seals under a key that it derives from the application's and a salt of its own, and draws another salt in
time: so the bound on messages under one key with random nonces, 2**32 of them, is never near.
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
from stepward.payload.sealed import BEGINNING, UNOPENED, as_stored, envelope, is_sealed, unopened

SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
SEALED_PER_SALT = 2**24
DERIVED_KEPT = 1024
"""Derived keys that are kept for opening: one for each process that sealed, and salt."""
LENIENT = "surrogatepass"
"""Names that no store takes are refused by the store, in its words."""
LABEL = b"stepward payload 1\0"


class PayloadCipher:
    """Implements ``PayloadCodec`` for one application with its keys."""

    def __init__(self, app: str, encryption: Encryption) -> None:
        self.encryption = encryption
        self._app = app.encode() + b"\0"
        self.current = encryption.current
        self._beginning = BEGINNING + encryption.current.encode() + b'","data":"'
        self._cipher = lru_cache(DERIVED_KEPT)(self._derived)
        self._left = 0
        """Payloads that may still be sealed under the present salt."""
        self._salt = b""
        self._sealing: AESGCM

    async def load(self, keys: Collection[str] = ()) -> None:
        await self.encryption.load(keys)

    def has_key(self, key: str) -> bool:
        return key in self.encryption.keys

    def seal(self, data: bytes, owner: str, place: str, shown: bytes = b"") -> bytes:
        if data.startswith(UNOPENED):
            return as_stored(data) or data
        if not self._left:
            self._draw_salt()
        self._left -= 1
        nonce = os.urandom(NONCE_BYTES)
        box = self._salt + nonce + self._sealing.encrypt(nonce, data, f"{owner}\0{place}".encode(errors=LENIENT))
        return self._beginning + b2a_base64(box, newline=False) + b'"' + shown + b"}"

    def open(self, data: bytes, owner: str, place: str) -> bytes:
        if not is_sealed(data):
            return data
        found = envelope(data)
        if found is None:
            return unopened(data, "it is not whole; restore it from a backup")
        if found.key not in self.encryption.keys:
            return unopened(data, f"this process has no key {found.key}; give it the key")
        salt, box = found.data[:SALT_BYTES], found.data[SALT_BYTES:]
        if len(box) >= NONCE_BYTES + TAG_BYTES:
            with suppress(InvalidTag):
                bound = f"{owner}\0{place}".encode(errors=LENIENT)
                return self._cipher(found.key, salt).decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], bound)
        return unopened(
            data, "it was changed, moved from another place, or encrypted with another key of that id; restore it"
        )

    def _draw_salt(self) -> None:
        self._salt = os.urandom(SALT_BYTES)
        self._sealing = self._derived(self.current, self._salt)
        self._left = SEALED_PER_SALT

    def _derived(self, key: str, salt: bytes) -> AESGCM:
        return AESGCM(hmac.digest(self.encryption.keys[key], LABEL + self._app + salt, "sha256"))
