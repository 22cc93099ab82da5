"""Certificates for servers and clients on loopback, made with the openssl program."""

from __future__ import annotations

import subprocess
from pathlib import Path

DAYS = "2"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """Signs certificates; its files lie in a folder of the test's."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self.certificate = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        self._run("req", "-x509", *KEY, "-subj", f"/CN={name}", "-days", DAYS, "-keyout", self._key,
                  "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
                  "-out", self.certificate)  # fmt: skip

    def sign(self, name: str, *, names: str = "IP:127.0.0.1,DNS:localhost") -> tuple[Path, Path]:
        """A certificate for these names, and its key."""
        request, certificate, key = (self._folder / f"{name}.{end}" for end in ("csr", "pem", "key"))
        self._run("req", *KEY, "-subj", f"/CN={name}", "-keyout", key, "-addext", f"subjectAltName={names}",
                  "-out", request)  # fmt: skip
        self._run("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
                  "-days", DAYS, "-copy_extensions", "copy", "-out", certificate)  # fmt: skip
        return certificate, key

    def _run(self, *arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
