"""Processes of another store that come under the application's name, without a prefix: each must be refused."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from servers.keeper.process import ROOT
from torture.application.actor import READY
from torture.faults.faults import Chaos

ROLES = ("scheduler", "agent", "submission")
REFUSED = 2
WORD = "expected the application 'torture' of the store"
START_SECONDS = 60.0
LOOK_SECONDS = 0.1


class Trespass(Struct):
    """What became of one of them."""

    role: str
    began: bool
    """Whether it said that it is at work."""
    said: str


class Trespassers:
    """Starts them, with the store of the second application and the first one's address at the broker."""

    def __init__(self, folder: Path, variables: Mapping[str, str], chance: random.Random) -> None:
        self._folder = folder
        self._variables = variables
        self._chance = chance
        self.came: list[Trespass] = []

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kind."""
        return {"another store's process": Chaos(3, self._come, lasts=True)}

    async def _come(self) -> bool:
        """Delivered if it was refused for what it is; a store or broker that is down refuses it otherwise."""
        role = self._chance.choice(ROLES)
        out, errors = (self._folder / f"trespasser.{end}" for end in ("out", "log"))
        with out.open("wb") as told, errors.open("wb") as complained:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "stepward", role, "torture.application.application:app"),
                cwd=ROOT,
                stdout=told,
                stderr=complained,
                env={**os.environ, **self._variables},
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                while process.returncode is None and READY.encode() not in out.read_bytes():  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return False
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        began, said = READY.encode() in out.read_bytes(), errors.read_text()[-1500:]
        self.came.append(Trespass(role, began, said))
        return not began and process.returncode == REFUSED and WORD in said
