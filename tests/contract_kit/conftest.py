from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.virtual import VirtualLoop


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], VirtualLoop]]:
    return {"virtual": VirtualLoop}
