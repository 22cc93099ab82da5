"""Places in workflow code: the file and line that a message of a divergence names."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path, PurePath
from types import CodeType, FrameType

CodePlace = tuple[str, int]
"""File and line."""

OURS = str(Path(__file__).parents[2])
ASYNCIO = str(Path(asyncio.__file__).parent)
LIBRARY = tuple(f"{folder}/" for folder in (OURS, ASYNCIO))
"""Files in these folders ask on behalf of workflow code."""


_ours: dict[str, bool] = {}
"""Whether a file is the library's: looked up for each command of a replay. There are as many as files of code."""


def calling_place(outermost: CodeType) -> CodePlace | None:
    """The innermost frame outside the library, no further out than the code that drives the workflow."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not outermost:
        file = frame.f_code.co_filename
        is_ours = _ours.get(file)
        if is_ours is None:
            is_ours = _ours[file] = file.startswith(LIBRARY)
        if not is_ours:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


def shown(place: CodePlace) -> str:
    """A place as messages show it: ``shop.py:31``."""
    return f"{PurePath(place[0]).name}:{place[1]}"
