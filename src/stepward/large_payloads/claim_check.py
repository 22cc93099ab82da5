"""Puts large payloads outside and leaves references, and fetches what references stand for.

An object belongs to one task, and its name says to which: it is deleted with the task, and a reference of another task
opens nothing. Its content is checked by length and digest. Where payloads are encrypted, each object has a key of its
own, which is kept in the reference: a rotation re-encrypts references and no object.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from stepward.clock import Environment
from stepward.large_payloads.address import LargePayloads
from stepward.large_payloads.object_store import PayloadObjects
from stepward.payload.references import (
    BEGINNING,
    JOINED,
    Reference,
    is_elsewhere,
    parts_of,
    reference_of,
    written,
)
from stepward.payload.sealed import UNOPENED, unopened

NONCE = bytes(12)
"""A key encrypts one object, so that its nonce may be the same for all."""
KEY_BYTES = 32
KNOWN_KEPT = 1_024
"""Objects that were put last, by owner and digest: what is written again is not put again."""
AT_ONCE = 8
"""Objects that are put or fetched at the same time."""
SHOWN = frozenset(
    {"type", "step", "place", "attempt", "maybe_done", "in_doubt", "expired", "agent", "workflow", "version", "queue"}
)
"""Fields of an error, or of the details of an alert, that searches and operators read."""
HEXADECIMAL = re.compile(r"[0-9a-f]{32}")
PLAIN_ROOT = re.compile(r"[A-Za-z0-9_-]{1,64}")
MESSAGES = "messages"
"""The folder of payloads of messages that are no tasks yet."""
ORPHANS_AFTER = 86_400.0
"""Seconds after which an object that belongs to no task is deleted."""
FRESH_SHARE = 0.25
"""Share of the age of orphans for which an object that was put may still be referred to by a new commit."""

OwnedPayload = tuple[str, bytes]
"""The owner of a payload, and the payload."""


class PayloadKeeper:
    """Keeps the large payloads of one application. ``limit``: payloads of more bytes are kept outside the store."""

    def __init__(
        self,
        objects: PayloadObjects,
        *,
        limit: int,
        encrypts: bool,
        orphans_after: float,
        environment: Environment,
    ) -> None:
        self.objects = objects
        self.limit = limit
        self.orphans_after = orphans_after
        self._encrypts = encrypts
        self._now = environment.clock.boot
        self._failpoint = environment.failpoint
        self._fresh_seconds = orphans_after * FRESH_SHARE
        self._known: OrderedDict[tuple[str, str], tuple[bytes, float]] = OrderedDict()
        self._room = asyncio.Semaphore(AT_ONCE)

    def is_large(self, data: bytes | None) -> bool:
        """Whether the payload is to be kept outside the store."""
        return data is not None and len(data) > self.limit and not data.startswith((BEGINNING, UNOPENED))

    async def put(self, owner: str, data: bytes, *, keeps_fields: bool = False) -> bytes:
        """The payload itself if it is small, else a reference to it, once the object is durable.

        ``keeps_fields``: what is read of an error, or of an alert's details, stays readable in the reference.

        Raises StoreUnavailable.
        """
        if not self.is_large(data):
            return data
        digest = hashlib.sha256(data).hexdigest()
        known = self._known.get((owner, digest))
        if known is not None and self._now() - known[1] < self._fresh_seconds:
            return known[0]
        key = os.urandom(KEY_BYTES) if self._encrypts else None
        name = f"{folder_of(owner)}/{os.urandom(16).hex()}"
        at = self._now()
        async with self._room:
            await self.objects.put(name, data if key is None else _encrypted(key, data))
        self._failpoint("objects.put.after")
        reference = Reference(name=name, size=len(data), digest=digest, key=key)
        found = written(reference, _shown(data) if keeps_fields else b"")
        self._known[(owner, digest)] = (found, at)
        while len(self._known) > KNOWN_KEPT:
            self._known.popitem(last=False)
        return found

    async def put_all(self, payloads: Iterable[OwnedPayload]) -> list[bytes]:
        """As ``put`` for several."""
        return await asyncio.gather(*(self.put(owner, data) for owner, data in payloads))

    async def fetch(self, owner: str, data: bytes) -> bytes:
        """What the payload stands for: itself if it is no reference.

        An object that is missing, changed, refused or another task's gives bytes that no reader takes for JSON, and
        that say why (``sealed.unopened``). Raises StoreUnavailable while the object store cannot be reached.
        """
        if not is_elsewhere(data):
            return data
        if data.startswith(JOINED):
            return await self._fetch_joined(owner, data)
        reference = reference_of(data)
        if reference is None or not _belongs(reference.name, owner):
            return unopened(data, "its reference is not one of this task; restore the row from a backup")
        found = await self._content(reference)
        return found if isinstance(found, bytes) else unopened(data, f"the object {reference.name} {found}")

    async def fetch_all(self, payloads: Sequence[OwnedPayload]) -> list[bytes]:
        """As ``fetch`` for several."""
        return await asyncio.gather(*(self.fetch(owner, data) for owner, data in payloads))

    async def _content(self, reference: Reference) -> bytes | str:
        """The payload of an object, or what is wrong with it."""
        try:
            async with self._room:
                body = await self.objects.get(reference.name)
        except PermissionError:
            return "may not be read; give this process the right"
        if body is None:
            return "is missing; restore it from a backup"
        payload = _decrypted(reference.key, body)
        is_whole = payload is not None and _is_whole(reference, payload)
        return payload if payload is not None and is_whole else "was changed; restore it from a backup"

    async def _fetch_joined(self, owner: str, data: bytes) -> bytes:
        try:
            output, input = await self.fetch_all([(owner, part) for part in parts_of(data)])
        except (msgspec.MsgspecError, ValueError):
            return unopened(data, "its reference is not whole; restore the row from a backup")
        for part in (output, input):
            if part.startswith(UNOPENED):
                return part
        rest = input[1:]
        return b"[" + output + (b"" if rest == b"]" else b",") + rest


def keeper_of(
    app: str,
    large: LargePayloads | None,
    *,
    encrypts: bool,
    environment: Environment | None = None,
    orphans_after: float = ORPHANS_AFTER,
) -> PayloadKeeper | None:
    """The keeper of an application's large payloads; None where all of them stay in the store."""
    if large is None:
        return None
    return PayloadKeeper(
        PayloadObjects(large.address, app),
        limit=large.over_bytes,
        encrypts=encrypts,
        orphans_after=orphans_after,
        environment=environment or Environment(),
    )


def folder_of(owner: str) -> str:
    """The folder of an owner's objects: the uid of the first ancestor, and a digest of the owner's own uid."""
    root = owner.partition("/")[0]
    if not PLAIN_ROOT.fullmatch(root):
        root = hashlib.sha256(root.encode()).hexdigest()[:32]
    return f"{root}/{hashlib.sha256(owner.encode()).hexdigest()[:32]}"


def message_owner(id: str) -> str:
    """The owner of the payload of a message that is no task yet."""
    return f"{MESSAGES}/{id}"


def _belongs(name: str, owner: str) -> bool:
    """Whether the object is the owner's, or that of a task of the same family, whose end it may have received."""
    root, _, _ = folder_of(owner).partition("/")
    folder, _, file = name.rpartition("/")
    if not HEXADECIMAL.fullmatch(file):
        return False
    if root == MESSAGES:
        return folder == folder_of(owner)
    return folder.startswith(f"{root}/") and bool(HEXADECIMAL.fullmatch(folder, len(root) + 1))


def _is_whole(reference: Reference, payload: bytes) -> bool:
    return len(payload) == reference.size and hashlib.sha256(payload).hexdigest() == reference.digest


def _encrypted(key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  an extra's

    return AESGCM(key).encrypt(NONCE, data, None)


def _decrypted(key: bytes | None, body: bytes) -> bytes | None:
    """The payload of an object; None for one that was changed."""
    if key is None:
        return body
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  an extra's
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  an extra's

    try:
        return AESGCM(key).decrypt(NONCE, body, None)
    except InvalidTag:
        return None


def _shown(payload: bytes) -> bytes:
    """The fields that stay readable, as the rest of a JSON object."""
    try:
        fields = msgspec.json.decode(payload, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b""
    kept = {name: fields[name] for name in sorted(SHOWN) if isinstance(fields.get(name), str | int | bool)}
    return b"," + msgspec.json.encode(kept)[1:-1] if kept else b""
