"""The software bill of materials of a release: the pinned dependencies with their hashes, as CycloneDX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)[^\\]*\\?$", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def pins(lock: str) -> dict[tuple[str, str], list[str]]:
    """The name and version of each package in a file of requirements, with the SHA-256 of each of its files."""
    found = list(PIN.finditer(lock))
    ends = [*(each.start() for each in found[1:]), len(lock)]
    return {
        (each[1].lower(), each[2]): HASH.findall(lock[each.end() : end]) for each, end in zip(found, ends, strict=True)
    }


def bill_of_materials(name: str, version: str, locks: Iterable[str]) -> dict[str, Any]:
    """The bill of a package whose dependencies are pinned in these files of requirements."""
    packages = {package: hashes for lock in locks for package, hashes in pins(lock).items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": name, "version": version, "purl": _purl(name, version)}},
        "components": [
            {
                "type": "library",
                "name": package,
                "version": pinned,
                "purl": _purl(package, pinned),
                "bom-ref": _purl(package, pinned),
                "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
            }
            for (package, pinned), hashes in sorted(packages.items())
        ],
    }


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{quote(name)}@{quote(version)}"
