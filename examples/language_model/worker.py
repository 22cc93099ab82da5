"""A process of the desk: every actor, until it is killed.

python -m examples.language_model.worker pydantic_ai sqlite:///desk.db
"""

from __future__ import annotations

import asyncio
import importlib
import sys


async def main(library: str, store: str) -> None:
    """Run the application of that library."""
    application = importlib.import_module(f"examples.language_model.with_{library}")
    async with application.make_app(store).running():
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
