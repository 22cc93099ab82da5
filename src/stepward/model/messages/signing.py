"""The store that a message belongs to, and the proof that a reply answers a request of that store.

Pure: an identity and a key in, text or a verdict out.
"""

from __future__ import annotations

import hmac
from hashlib import blake2b

from msgspec import Struct

KEY_BYTES = 32
STORE_BYTES = 10
PROOF_BYTES = 16


class StoreIdentity(Struct, frozen=True):
    """The identity of a store, and the key with which its Schedulers sign requests."""

    store: str
    """Random, made with the store: 20 hexadecimal digits."""
    key: bytes

    @classmethod
    def drawn(cls, chance: bytes) -> StoreIdentity:
        """A new identity from ``KEY_BYTES + STORE_BYTES`` random bytes."""
        return cls(chance[KEY_BYTES:].hex(), chance[:KEY_BYTES])


class Signer:
    """Signs the requests of one store and verifies answers."""

    def __init__(self, identity: StoreIdentity) -> None:
        self.store = identity.store
        self._keyed = blake2b(key=identity.key, digest_size=PROOF_BYTES, person=b"stepward request")

    def proof(self, task: str, run: int, key: str, attempt: int, agent: str) -> str:
        """The proof of one attempt requested of that Agent."""
        mac = self._keyed.copy()
        mac.update(f"{task}\0{run}\0{key}\0{attempt}\0{agent}".encode())
        return mac.hexdigest()

    def is_genuine(self, proof: str, task: str, run: int, key: str, attempt: int, agent: str) -> bool:
        """Whether it is the proof of that attempt."""
        mac = self._keyed.copy()
        mac.update(f"{task}\0{run}\0{key}\0{attempt}\0{agent}".encode())
        return proof.isascii() and hmac.compare_digest(proof, mac.hexdigest())
