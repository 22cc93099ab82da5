"""``make npm-package``: builds the npm package of Agents in Node, with its repository's address if one is given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "agents" / "node"
MODULES = ROOT / "build" / "agents-node" / "node_modules"
"""The packages that tests/install-programs installs, by version and hash."""
FOLDER = ROOT / "build" / "npm-package"
REPOSITORY = "STEPWARD_REPOSITORY"
"""The variable with the https address of the repository: a registry compares it with the one that built the package."""
PACKED = ("README.md", "LICENSE", "dist")


def main() -> None:
    """Compiles and packs."""
    with tempfile.TemporaryDirectory(prefix="npm-package-") as given:
        folder = Path(given) / "agent"
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
        (folder / "node_modules").symlink_to(MODULES)
        _run(folder, "node", str(MODULES / "typescript" / "bin" / "tsc"), "--project", "tsconfig.build.json")
        shutil.rmtree(FOLDER, ignore_errors=True)
        print(packed(folder, FOLDER, os.environ.get(REPOSITORY, "")))  # noqa: T201  the command's answer


def packed(compiled: Path, folder: Path, repository: str) -> Path:
    """The package of a compiled folder, made in another one. Raises SystemExit for an address that is not https."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="npm-package-") as given:
        place = Path(given)
        described = json.loads((compiled / "package.json").read_text("utf-8"))
        (place / "package.json").write_text(json.dumps(described | _addresses(repository), indent=2) + "\n", "utf-8")
        for name in PACKED:
            copy = shutil.copytree if (compiled / name).is_dir() else shutil.copy
            copy(compiled / name, place / name)
        name = _run(place, "npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", str(folder.resolve()))
    return folder / name.strip()


def _addresses(repository: str) -> dict[str, object]:
    if not repository:
        return {}
    if not repository.startswith("https://"):
        raise SystemExit(f"{REPOSITORY}: expected an https:// address, found {repository[:100]!r}; correct it")
    address = repository.rstrip("/")
    return {"repository": {"type": "git", "url": f"git+{address}.git", "directory": "agents/node"}}


def _run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
