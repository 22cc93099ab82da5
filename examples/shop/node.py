"""`python -m examples.shop.node`: run the mail Agent that is written for Node, until SIGTERM or SIGINT.

It uses the package of `agents/node`, which npm installs into `build/node-agent` first, in the versions of its lock, and
which is compiled there.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from servers.keeper.transports import TransportKind
from servers.tether import listen, until

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("node-agent")
PACKAGE = ROOT / "agents" / "node"
PARTS = ("package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "src")
"""What of the package is compiled."""
FOLDER = ROOT / "build" / "node-agent"
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
COMPILE = ("node_modules/typescript/bin/tsc", "--project", "tsconfig.build.json")
INSTALL_SECONDS = 120
END_SECONDS = 7
LAST_LINES = 3


class NodeMissing(Exception):
    """Node is not there, or what the Agent needs could not be installed."""


def main() -> None:
    """Install, and run the Agent."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.node", description=__doc__)
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    try:
        install()
        asyncio.run(_work(is_tethered=given.tethered))
    except (NodeMissing, RuntimeError) as error:
        sys.exit(f"node: {error}")


async def serves_mail(transport: TransportKind, say: Callable[[str], None]) -> bool:
    """Whether this Agent can serve, in place of the one in Python; `say` is called with which of the two does.

    It knows NATS alone. On continuous integration NodeMissing is raised where it cannot be had.
    """
    if transport is not TransportKind.NATS:
        return False
    try:
        await asyncio.to_thread(install)
    except NodeMissing as missing:
        if os.environ.get("CI"):
            raise
        say(f"The mail Agent is the one in Python: {missing}")
        return False
    say("The mail Agent is the one that is written for Node")
    return True


def install() -> None:
    """Have all that the Agent needs in the folder; raises NodeMissing, in words."""
    npm = _program("npm")
    program = _program("node")
    with _alone():
        shutil.copy(SOURCE / "index.mjs", FOLDER)
        stamp, digest = FOLDER / "installed.json", _digest()
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest:
            place = installed_package()
            place.mkdir(parents=True, exist_ok=True)
            for name in PARTS:
                copy = partial(shutil.copytree, dirs_exist_ok=True) if (PACKAGE / name).is_dir() else shutil.copy
                copy(PACKAGE / name, place / name)
            _run_in(place, "npm to install what the Agent needs", npm, *INSTALL)
            _run_in(place, "TypeScript to compile the Agent's package", program, *COMPILE)
            stamp.write_text(digest, encoding="utf-8")


def installed_package() -> Path:
    """Where the Agent finds the package."""
    return FOLDER / "node_modules" / "stepward-agent"


def _digest() -> str:
    """Of all that is compiled or says what is installed."""
    files = sorted(path for name in PARTS for path in (PACKAGE / name, *(PACKAGE / name).rglob("*")) if path.is_file())
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _run_in(folder: Path, expected: str, *command: str) -> None:
    try:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise NodeMissing(f"expected {expected} within {INSTALL_SECONDS} s, found it had not") from None
    if done.returncode:
        said = " / ".join((done.stderr or done.stdout).strip().splitlines()[:LAST_LINES])
        raise NodeMissing(f"expected {expected}, found: {said}")


@contextmanager
def _alone() -> Iterator[None]:
    """No other process installs meanwhile."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NodeMissing(f"expected the program {name}, found none; install Debian’s packages nodejs and npm")
    return found


async def _work(*, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    agent = await asyncio.create_subprocess_exec(_program("node"), "index.mjs", cwd=FOLDER, stdin=subprocess.DEVNULL)
    try:
        print("mail ready", flush=True)
        await until(told, _run(agent))
    finally:
        await _end(agent)


async def _run(agent: asyncio.subprocess.Process) -> None:
    raise RuntimeError(f"expected the Agent to go on, found that it exited with {await agent.wait()}")


async def _end(agent: asyncio.subprocess.Process) -> None:
    """Ask it to end what it has begun, and kill it when that takes too long."""
    with suppress(ProcessLookupError):
        agent.terminate()
    try:
        async with asyncio.timeout(END_SECONDS):
            await agent.wait()
    except TimeoutError:
        agent.kill()
        await agent.wait()


if __name__ == "__main__":
    main()
