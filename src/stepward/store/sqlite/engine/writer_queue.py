"""Writers of one process take turns at a file, in the order in which they asked.

SQLite lets one connection write at a time and tells the others nothing; who only tried again now and then would never
meet the gap between two transactions of a busy neighbour.
"""

from __future__ import annotations

import asyncio
import os
from weakref import WeakKeyDictionary, WeakValueDictionary

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()


def writer_lock(path: str) -> asyncio.Lock:
    """The lock of all who write to that file on the running event loop; it is gone with the last of them."""
    turns = _turns.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    place = path if path.startswith("file:") else os.path.realpath(path)
    turn = turns.get(place)
    if turn is None:
        turn = turns[place] = asyncio.Lock()
    return turn
