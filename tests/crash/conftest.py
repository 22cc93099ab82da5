"""Real processes on one file; whatever a test leaves running is killed with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import Scene

Open = Callable[[str], Coroutine[Any, Any, Scene]]


@pytest.fixture
async def open_scene(tmp_path: Path) -> AsyncIterator[Open]:
    scenes: list[Scene] = []

    async def open_scene(transport: str) -> Scene:
        scene = Scene(tmp_path, transport)
        await scene.open()
        scenes.append(scene)
        return scene

    yield open_scene
    for scene in scenes:
        await scene.close()
