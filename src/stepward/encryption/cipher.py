"""AES-256-GCM over payloads, each bound to its application, its task and its place.

A process seals under a key that it derives from the application's and a salt of its own, and draws another salt in
time: so the bound on messages under one key with random nonces, 2**32 of them, is never near.
"""

from __future__ import annotations

import hmac
import os
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections import deque
from collections.abc import Callable, Collection
from weakref import WeakSet

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stepward.encryption.keys import Encryption
from stepward.payload.sealed import BEGINNING, UNOPENED, as_stored, envelope, unopened

SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
SEALED_PER_SALT = 2**24
NONCES_DRAWN = 256
"""Nonces that are drawn from the system at once: a call for each payload is a fifth of the cost of sealing it."""
DERIVED_KEPT = 1024
"""Derived keys that are kept for opening: one for each process that sealed, and salt."""
LENIENT = "surrogatepass"
"""Names that no store takes are refused by the store, in its words."""
LABEL = b"stepward payload 1\0"
KEY_AT = len(BEGINNING)
BETWEEN = b'","data":"'
"""The bytes between the id of the key and the ciphertext."""
NOT_WHOLE = "it is not whole; restore it from a backup"
NOT_HERE = "it was changed, moved from another place, or encrypted with another key of that id; restore it"

Encrypt = Callable[[bytes, bytes, bytes], bytes]
Decrypt = Callable[[bytes, bytes, bytes], bytes]

_ciphers: WeakSet[PayloadCipher] = WeakSet()
"""Those of this process: a child that is forked off draws a salt and nonces of its own."""


class PayloadCipher:
    """Implements ``PayloadCodec`` for one application with its keys. Threads may share it."""

    def __init__(self, app: str, encryption: Encryption) -> None:
        self.encryption = encryption
        self._app = app.encode() + b"\0"
        self.current = encryption.current
        self._key = encryption.current.encode()
        self._beginning = BEGINNING + self._key + BETWEEN
        self._starts = len(self._beginning)
        """Where the ciphertext begins in what the current key sealed."""
        self._left = 0
        """Nonces that may still be drawn under the present salt."""
        self._nonces: deque[bytes] = deque()
        self._sealing: tuple[bytes, Encrypt]
        """The present salt, and what encrypts under the key that is derived with it."""
        self._opening: dict[tuple[bytes, bytes], Decrypt] = {}
        """By the id of the key and the salt, what decrypts."""
        _ciphers.add(self)

    async def load(self, keys: Collection[str] = ()) -> None:
        await self.encryption.load(keys)

    def has_key(self, key: str) -> bool:
        return key in self.encryption.keys

    def seal(self, data: bytes, owner: str, place: str, shown: bytes = b"") -> bytes:
        if data.startswith(UNOPENED):
            return as_stored(data) or data
        try:
            # Each nonce is given to one thread alone.
            nonce = self._nonces.popleft()
        except IndexError:
            nonce = self._drawn()
        salt, encrypt = self._sealing
        box = salt + nonce + encrypt(nonce, data, f"{owner}\0{place}".encode(errors=LENIENT))
        return self._beginning + b2a_base64(box, newline=False) + (b'"' + shown + b"}" if shown else b'"}')

    def open(self, data: bytes, owner: str, place: str) -> bytes:
        key, starts = self._key, self._starts
        if not data.startswith(self._beginning):
            if not data.startswith(BEGINNING):
                return data
            key_ends = data.find(b'"', KEY_AT)
            key, starts = data[KEY_AT:key_ends], key_ends + len(BETWEEN)
            if data[key_ends:starts] != BETWEEN:
                # What seals here writes so; another program may write the same object in another way.
                return self._open_other(data, owner, place)
        try:
            box = a2b_base64(data[starts : data.index(b'"', starts)], strict_mode=True)
        except (NotBase64, ValueError):
            return unopened(data, NOT_WHOLE)
        return self._open_box(data, key, box, f"{owner}\0{place}".encode(errors=LENIENT))

    def _open_other(self, data: bytes, owner: str, place: str) -> bytes:
        found = envelope(data)
        if found is None:
            return unopened(data, NOT_WHOLE)
        return self._open_box(data, found.key.encode(), found.data, f"{owner}\0{place}".encode(errors=LENIENT))

    def _open_box(self, data: bytes, key: bytes, box: bytes, bound: bytes) -> bytes:
        salt = box[:SALT_BYTES]
        decrypt = self._opening.get((key, salt)) or self._decrypting(key, salt)
        if decrypt is None:
            name = key.decode(errors="replace")
            return unopened(data, f"this process has no key {name}; give it the key")
        if len(box) < SALT_BYTES + NONCE_BYTES + TAG_BYTES:
            return unopened(data, NOT_HERE)
        try:
            return decrypt(box[SALT_BYTES : SALT_BYTES + NONCE_BYTES], box[SALT_BYTES + NONCE_BYTES :], bound)
        except InvalidTag:
            return unopened(data, NOT_HERE)

    def forget_drawn(self) -> None:
        """Seal nothing more under the present salt, nor with a nonce that was drawn: another process may."""
        self._left = 0
        self._nonces.clear()

    def _drawn(self) -> bytes:
        """A nonce, after more of them were drawn."""
        if self._left <= 0:
            salt = os.urandom(SALT_BYTES)
            self._sealing = salt, self._derived(self.current, salt).encrypt
            self._left = SEALED_PER_SALT
        self._left -= NONCES_DRAWN
        drawn = os.urandom(NONCE_BYTES * NONCES_DRAWN)
        nonces = [drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES)]
        self._nonces.extend(nonces[1:])
        return nonces[0]

    def _decrypting(self, key: bytes, salt: bytes) -> Decrypt | None:
        name = key.decode(errors="replace")
        if name not in self.encryption.keys:
            return None
        while len(self._opening) >= DERIVED_KEPT:
            self._opening.pop(next(iter(self._opening)), None)
        found = self._opening[(key, salt)] = self._derived(name, salt).decrypt
        return found

    def _derived(self, key: str, salt: bytes) -> AESGCM:
        return AESGCM(hmac.digest(self.encryption.keys[key], LABEL + self._app + salt, "sha256"))


def _forget_drawn() -> None:
    for cipher in _ciphers:
        cipher.forget_drawn()


os.register_at_fork(after_in_child=_forget_drawn)
