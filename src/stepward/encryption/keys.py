"""Keys of payloads by their ids: one encrypts, all decrypt."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from stepward.errors import SettingsError

KEY_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")
KEY_BYTES = 32
"""Bytes of a key, for AES-256."""
MOST_KEYS = 64
FORM = "ID:KEY with a key of 32 bytes in base64, the current one first, others behind it separated by spaces"


class Encryption:
    """The keys that encrypt an application's payloads: ``current`` encrypts, every key of ``keys`` decrypts.

    Keys have 32 bytes. To rotate, add a key under a new id and make it the current one; the old key is needed as long
    as anything is stored that was encrypted with it. Raises SettingsError.
    """

    __slots__ = ("current", "keys")

    def __init__(self, current: str, keys: Mapping[str, bytes]) -> None:
        if not keys or len(keys) > MOST_KEYS:
            raise SettingsError(f"encryption: expected 1 to {MOST_KEYS} keys, found {len(keys)}; give the ones in use")
        for id, key in keys.items():
            _check_key(id, key)
        if current not in keys:
            raise SettingsError(
                f"encryption: expected the key of the current id {current!r:.60}, found only "
                f"{', '.join(sorted(keys))}; add it"
            )
        if find_spec("cryptography") is None:
            raise SettingsError(
                "encryption: expected the package cryptography, found it missing; install stepward[encryption]"
            )
        self.current = current
        self.keys: Mapping[str, bytes] = MappingProxyType(dict(keys))

    def __repr__(self) -> str:
        return f"Encryption({shown_encryption(self)})"


def read_encryption(value: object, what: str) -> Encryption | None:
    """The setting: an ``Encryption``, or its keys as text. Messages never show a key."""
    if value is None or isinstance(value, Encryption):
        return value
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{what}: expected {FORM}, found {type(value).__name__}; give keys, file:PATH or env:NAME")
    keys: dict[str, bytes] = {}
    for part in value.split():
        id, separator, text = part.partition(":")
        if not separator or id in keys:
            found = f"the id {id!r:.60} twice" if id in keys else "a part without a colon"
            raise SettingsError(f"{what}: expected {FORM}, found {found}; write it so")
        keys[id] = _decoded(id, text, what)
    return Encryption(next(iter(keys)), keys)


def shown_encryption(encryption: Encryption | None) -> str:
    """The ids of the keys, the current one first; ids are no secrets."""
    if encryption is None:
        return "none"
    others = sorted(set(encryption.keys) - {encryption.current})
    return ", ".join([f"key {encryption.current}", *others])


def _decoded(id: str, text: str, what: str) -> bytes:
    try:
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (NotBase64, ValueError):
        raise SettingsError(f"{what}: expected the key {id!r:.60} in base64, found other text; encode it") from None


def _check_key(id: str, key: object) -> None:
    if not isinstance(id, str) or not KEY_ID.fullmatch(id):
        raise SettingsError(
            f"encryption: expected key ids of 1 to 40 of A-Z a-z 0-9 _ . -, found {id!r:.60}; name it so"
        )
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise SettingsError(
            f"encryption: expected {KEY_BYTES} bytes as the key {id}, found {found}; run openssl rand -base64 32"
        )
