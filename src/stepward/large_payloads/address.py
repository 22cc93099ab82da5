"""Addresses at which large payloads are kept: a folder, a bucket of S3, or a container of Azure Blob."""

from __future__ import annotations

import re
from importlib.util import find_spec

from stepward.errors import SettingsError

ADDRESS = re.compile(r"file:///[^\x00-\x20?#]+|s3://[^\x00-\x20@?#]+|az://[^\x00-\x20@/?#]+/[^\x00-\x20@?#]+")
OVER_BYTES = 128 * 1024
"""Bytes up to which payloads stay in the store."""
LEAST_BYTES = 1024
FOLDER = "file://"
FORM = "file:///FOLDER, s3://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX"


def read_address(value: object, what: str) -> str | None:
    """The setting, checked. Raises SettingsError."""
    if value is None:
        return None
    if not isinstance(value, str) or not ADDRESS.fullmatch(value):
        # Credentials may stand in a wrong address: it is not shown.
        raise SettingsError(f"{what}: expected {FORM}, found other text; credentials come from the environment")
    if find_spec("obstore") is None:
        raise SettingsError(f"{what}: expected the package obstore, found it missing; install stepward[large-payloads]")
    return value.rstrip("/")


class LargePayloads:
    """Where payloads of more than ``over_bytes`` are kept: ``file:///FOLDER``, ``s3://BUCKET/PREFIX`` or
    ``az://ACCOUNT/CONTAINER/PREFIX``, with credentials from the environment.

    All processes of an application need the same address. Raises SettingsError.
    """

    __slots__ = ("address", "over_bytes")

    def __init__(self, address: str, *, over_bytes: int = OVER_BYTES) -> None:
        read = read_address(address, "large_payloads")
        if read is None or not isinstance(over_bytes, int) or over_bytes < LEAST_BYTES:
            raise SettingsError(f"large_payloads: expected an address, and {LEAST_BYTES:,} bytes or more; give both so")
        self.address = read
        self.over_bytes = over_bytes

    def __repr__(self) -> str:
        return f"LargePayloads({self.address!r}, over_bytes={self.over_bytes})"


def shown_address(address: str | None) -> str:
    """The address as messages show it: it holds no secret."""
    return address or "none"
