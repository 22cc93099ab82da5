"""Keys of payloads by their ids: one encrypts, all decrypt."""

from __future__ import annotations

import asyncio
import inspect
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from stepward.errors import SettingsError, StoreUnavailable

KEY_ID = re.compile(r"[A-Za-z0-9_.-]{1,40}")
KEY_BYTES = 32
"""Bytes of a key, for AES-256."""
MOST_KEYS = 64
FETCH_SECONDS = 30.0
"""Seconds that a key service may take for one key."""
FORM = "ID:KEY with a key of 32 bytes in base64, the current one first, others behind it separated by spaces"

FetchKey = Callable[[str], bytes | Awaitable[bytes]]
"""Asks a key service for the key of an id; a plain function runs in a thread."""


class Encryption:
    """The keys that encrypt an application's payloads: ``current`` encrypts, every key of ``keys`` decrypts.

    Keys have 32 bytes. In place of a mapping ``keys`` may be a function, plain or async, that asks a key service for
    the key of an id: each process calls it once for each key when it starts, for the current one, those of ``others``,
    and those that its store was encrypted with. To rotate, add a key under a new id and make it the current one; the
    old key is needed as long as anything is stored that was encrypted with it. Raises SettingsError.
    """

    __slots__ = ("_fetch", "_keys", "current", "others")

    def __init__(self, current: str, keys: Mapping[str, bytes] | FetchKey, *, others: Iterable[str] = ()) -> None:
        given = {} if callable(keys) else dict(keys)
        for id, key in given.items():
            _check_key(id, key)
        self.current = current
        self.others = tuple(others)
        self._fetch: FetchKey | None = keys if callable(keys) else None
        self._keys = given
        for id in (current, *self.others):
            _check_id(id)
            if self._fetch is None and id not in given:
                found = ", ".join(sorted(given)) or "none"
                raise SettingsError(f"encryption: expected the key of the id {id}, found only {found}; add it")
        _check_count(len(given))
        if find_spec("cryptography") is None:
            raise SettingsError(
                "encryption: expected the package cryptography, found it missing; install stepward[encryption]"
            )

    @property
    def keys(self) -> Mapping[str, bytes]:
        """The keys that are here, by their ids; those of a key service once a process has started."""
        return MappingProxyType(self._keys)

    async def load(self, ids: Iterable[str] = ()) -> None:
        """Fetch the keys that are not here yet. Raises StoreUnavailable if the key service gives none."""
        if self._fetch is None:
            return
        for id in dict.fromkeys((self.current, *self.others, *ids)):
            if id not in self._keys:
                _check_count(len(self._keys) + 1)
                key = await _fetched(self._fetch, id)
                _check_key(id, key)
                self._keys[id] = key

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
    others = sorted((encryption.keys.keys() | set(encryption.others)) - {encryption.current})
    return ", ".join([f"key {encryption.current}", *others])


async def _fetched(fetch: FetchKey, id: str) -> bytes:
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            if inspect.iscoroutinefunction(fetch):
                return await _awaited(fetch(id))
            return await _awaited(await asyncio.to_thread(fetch, id))
    except Exception as error:
        # What a key service says may quote a secret: only its kind is shown.
        raise StoreUnavailable(
            f"encryption: expected the key {id} of the key service, found {type(error).__name__}; look at the service"
        ) from error


async def _awaited(found: bytes | Awaitable[bytes]) -> bytes:
    return await found if inspect.isawaitable(found) else found


def _decoded(id: str, text: str, what: str) -> bytes:
    try:
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (NotBase64, ValueError):
        raise SettingsError(f"{what}: expected the key {id!r:.60} in base64, found other text; encode it") from None


def _check_count(count: int) -> None:
    if count > MOST_KEYS:
        raise SettingsError(f"encryption: expected at most {MOST_KEYS} keys, found {count}; give the ones in use")


def _check_id(id: object) -> None:
    if not isinstance(id, str) or not KEY_ID.fullmatch(id):
        raise SettingsError(
            f"encryption: expected key ids of 1 to 40 of A-Z a-z 0-9 _ . -, found {id!r:.60}; name it so"
        )


def _check_key(id: str, key: object) -> None:
    _check_id(id)
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise SettingsError(
            f"encryption: expected {KEY_BYTES} bytes as the key {id}, found {found}; run openssl rand -base64 32"
        )
