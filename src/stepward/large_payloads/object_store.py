"""The objects of large payloads, in a folder, S3 or Azure Blob, all below the name of one application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stepward.errors import StoreUnavailable
from stepward.large_payloads.address import FOLDER

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

FOLDER_MODE = 0o700
REQUEST_SECONDS = 30.0
"""Seconds that one request may take."""
RETRY_SECONDS = 10.0
"""Seconds for which a request is repeated that failed by the network or the server."""
PLAIN_TEXT = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP")
"""The variables that allow connections without TLS."""
AZURE = "az://"
PAGE = 1_000
"""Objects of one page of a listing."""


class StoredObject(NamedTuple):
    """An object of a listing."""

    name: str
    modified_at: float
    """Seconds since 1970, by the clock of the object store."""


class PayloadObjects:
    """The objects of one application. Names are relative; requests are repeated for ``RETRY_SECONDS``."""

    def __init__(self, address: str, app: str) -> None:
        self._address = address
        self._app = app
        self._folder = Path(address.removeprefix(FOLDER)) if address.startswith(FOLDER) else None
        self._opened: ObjectStore | None = None

    def __repr__(self) -> str:
        return f"PayloadObjects({self._address!r})"

    async def put(self, name: str, body: bytes) -> None:
        """Write an object, which is durable on return. Raises StoreUnavailable."""
        try:
            await self._store.put_async(self._path(name), body)
            if self._folder is not None:
                await asyncio.to_thread(_sync, self._folder, self._folder / self._path(name))
        except Exception as error:
            raise self._unavailable("written", error) from error

    async def get(self, name: str) -> bytes | None:
        """The object; None if there is none. Raises StoreUnavailable, and PermissionError where it is refused."""
        try:
            found = await self._store.get_async(self._path(name))
            return bytes(await found.bytes_async())
        except FileNotFoundError:
            return None
        except Exception as error:
            if type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError"):
                raise PermissionError(type(error).__name__) from error
            raise self._unavailable("read", error) from error

    async def listed(self, prefix: str = "", after: str | None = None) -> AsyncIterator[Sequence[StoredObject]]:
        """Pages of the objects below ``prefix``, in the order of their names where the object store has one; ``after``
        leaves out names up to that one. Raises StoreUnavailable."""
        root = f"{self._app}/"
        try:
            offset = None if after is None else self._path(after)
            stream = self._store.list(self._path(prefix) if prefix else self._app, offset=offset, chunk_size=PAGE)
            async for page in stream:
                yield [
                    StoredObject(each["path"].removeprefix(root), each["last_modified"].timestamp()) for each in page
                ]
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._unavailable("listed", error) from error

    async def delete(self, names: Sequence[str]) -> None:
        """Delete objects; one that does not exist is passed over. Raises StoreUnavailable."""
        for start in range(0, len(names), PAGE):
            try:
                await self._store.delete_async([self._path(name) for name in names[start : start + PAGE]])
            except FileNotFoundError:
                await self._delete_each(names[start : start + PAGE])
            except Exception as error:
                raise self._unavailable("deleted", error) from error

    async def _delete_each(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                await self._store.delete_async(self._path(name))
            except FileNotFoundError:
                continue
            except Exception as error:
                raise self._unavailable("deleted", error) from error

    def _path(self, name: str) -> str:
        return f"{self._app}/{name}"

    @property
    def _store(self) -> ObjectStore:
        if self._opened is None:
            self._opened = _open(self._address, self._folder)
        return self._opened

    def _unavailable(self, what: str, error: Exception) -> StoreUnavailable:
        # What an object store says may quote a signed address: only its kind is shown.
        return StoreUnavailable(
            f"large_payloads {self._address}: expected objects that can be {what}, found {type(error).__name__}; "
            "look at the object store, its address and the credentials in the environment"
        )


def _open(address: str, folder: Path | None) -> ObjectStore:
    from obstore.store import AzureStore, LocalStore, from_url  # noqa: PLC0415  an extra's

    if folder is not None:
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        return LocalStore(folder)
    retries: RetryConfig = {"max_retries": 10, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
    options: ClientConfig = {
        "timeout": timedelta(seconds=REQUEST_SECONDS),
        "connect_timeout": timedelta(seconds=RETRY_SECONDS),
        # What is given here takes the place of what the environment says of the connection.
        "allow_http": any(os.environ.get(name, "").lower() == "true" for name in PLAIN_TEXT),
    }
    if address.startswith(AZURE):
        account, container, *prefix = address.removeprefix(AZURE).split("/")
        return AzureStore(
            container,
            prefix="/".join(prefix) or None,
            account_name=account,
            retry_config=retries,
            client_options=options,
        )
    return from_url(address, retry_config=retries, client_options=options)


def _sync(folder: Path, file: Path) -> None:
    """Flush a file and the names that lead to it to the disk."""
    for path in (file, *file.parents):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if path == folder:
            return
