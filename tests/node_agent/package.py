"""The npm package of agents/node, built in build/agents-node, where its packages are installed."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.programs import npm_file, program

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "agents" / "node"
FOLDER = ROOT / "build" / "agents-node"
MODULES = FOLDER / "node_modules"
AGENT = FOLDER / "contract" / "agent.mjs"
"""The Agent of the contract kit."""
COPIED = ("src", "test", "contract", "scripts")
FILES = ("package.json", "tsconfig.json", "tsconfig.build.json", "README.md", "LICENSE")


def node(*arguments: str, within: Path = FOLDER) -> str:
    """The output of node; a failure shows all that it printed."""
    done = subprocess.run(
        [program("node", "nodejs"), *arguments], cwd=within, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tsc(*arguments: str) -> None:
    """Compile; every complaint is a failure."""
    node(str(MODULES / "typescript" / "bin" / "tsc"), *arguments)


def built() -> Path:
    """The folder of the package with its sources of now, compiled to ``dist`` and, with the tests, to ``build``."""
    npm_file(MODULES / "typescript" / "bin" / "tsc")
    with _alone():
        stamp, digest = FOLDER / "built.txt", _digest([SOURCE / each for each in (*COPIED, *FILES)])
        if not stamp.exists() or stamp.read_text("utf-8") != digest:
            _copy()
            tsc()
            tsc("--project", "tsconfig.build.json")
            stamp.write_text(digest, "utf-8")
    return FOLDER


def _copy() -> None:
    for name in (*COPIED, "dist", "build"):
        shutil.rmtree(FOLDER / name, ignore_errors=True)
    for name in COPIED:
        shutil.copytree(SOURCE / name, FOLDER / name)
    for name in FILES:
        shutil.copy(SOURCE / name, FOLDER / name)


def _digest(places: Sequence[Path]) -> str:
    files = sorted(file for place in places for file in ([place] if place.is_file() else place.rglob("*")))
    told = hashlib.sha256()
    for file in files:
        if file.is_file():
            told.update(f"{file.relative_to(SOURCE)}\0".encode() + file.read_bytes())
    return told.hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """No other process builds meanwhile."""
    with (FOLDER / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
