"""Servers of the APIs of S3 (moto) and Azure Blob (azurite) on loopback, each with an empty bucket or container."""

from __future__ import annotations

import base64
import hashlib
import hmac
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

from servers.ports import free_port

BUCKET = "payloads"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and the key of every azurite: they are in its documentation."""
VERSION = "2021-08-06"
PATIENCE = 60.0


class ObjectServer(NamedTuple):
    """A server, by the address of its bucket for the setting ``large_payloads``."""

    address: str
    environment: Mapping[str, str]
    """The variables by which a client finds it."""


@contextmanager
def s3() -> Iterator[ObjectServer]:
    """moto's server."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with _started([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]):
        _made(urllib.request.Request(f"{url}/{BUCKET}", method="PUT"))
        yield ObjectServer(
            f"s3://{BUCKET}/stepward",
            {
                "AWS_ENDPOINT_URL": url,
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
            },
        )


@contextmanager
def azure(node: str, program: Path) -> Iterator[ObjectServer]:
    """azurite; ``program`` is its file, run by ``node``."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="stepward-azurite-") as folder:
        where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder]
        with _started([node, str(program), *where, "--silent", "--skipApiVersionCheck"]):
            _made(_new_container(url))
            yield ObjectServer(
                f"az://{ACCOUNT}/{BUCKET}/stepward",
                {
                    "AZURE_STORAGE_USE_EMULATOR": "true",
                    "AZURITE_BLOB_STORAGE_URL": url,
                    "AZURE_ALLOW_HTTP": "true",
                    "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                    "AZURE_STORAGE_ACCOUNT_KEY": KEY,
                },
            )


@contextmanager
def _started(command: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _made(request: urllib.request.Request) -> None:
    """Send the request until the server answers."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _new_container(url: str) -> urllib.request.Request:
    """Signed with the shared key, as Azure's documentation has it."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": VERSION}
    canonical = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    resource = f"/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    text = "PUT" + "\n" * 12 + canonical + resource
    signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
    headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Length": "0"}
    return urllib.request.Request(f"{url}/{ACCOUNT}/{BUCKET}?restype=container", method="PUT", headers=headers)
