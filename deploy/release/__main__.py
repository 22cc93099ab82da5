"""``make release``: builds the packages of this version, lists their dependencies, and signs the checksums."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from deploy.release.bill_of_materials import bill_of_materials

ROOT = Path(__file__).parents[2]
NAMESPACE = "stepward-release"
"""What the signature is for: one made for something else is refused."""
CHECKSUMS = "SHA256SUMS"
BILL = "sbom.cdx.json"
EPOCH = "1580601600"
"""The time of all files in the packages, so that every build of a commit has the same bytes."""


def main() -> None:
    """Makes the release in a folder."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "dist")
    parser.add_argument("--key", type=Path, help="the private key of ssh that signs; nothing is signed without one")
    given = parser.parse_args()
    made = release(given.folder, given.key)
    print("\n".join(str(path) for path in made))  # noqa: T201  the command's answer


def release(folder: Path, key: Path | None) -> list[Path]:
    """The files of the release, made in an empty folder. Raises SystemExit for a folder that is not empty."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"release: expected an empty folder, found files in {folder}; empty it")
    packages = built(folder)
    metadata = ProjectMetadata(str(ROOT), PluginManager())
    locks = [(ROOT / "requirements" / "runtime.txt").read_text("utf-8")]
    bill = folder / BILL
    bill.write_text(
        json.dumps(bill_of_materials(metadata.core.name, metadata.version, locks), indent=1) + "\n", "utf-8"
    )
    sums = folder / CHECKSUMS
    sums.write_text("".join(f"{_digest(each)}  {each.name}\n" for each in sorted([*packages, bill])), "utf-8")
    return [*packages, bill, sums, *([] if key is None else [signed(sums, key)])]


def built(folder: Path) -> list[Path]:
    """The source distribution and the wheel; the same bytes for the same sources."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return sorted(folder.iterdir())


def signed(file: Path, key: Path) -> Path:
    """The signature of a file by a private key of ssh."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file.with_name(f"{file.name}.sig")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
