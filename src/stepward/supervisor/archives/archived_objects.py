"""The objects of large payloads in an archive: beside the files of their day, as the object store held them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepward.large_payloads import PayloadObjects, folder_of

OBJECTS = "objects"
"""The folder of objects in that of a day."""


def objects_beside(day: Path) -> PayloadObjects:
    """The objects of the tasks that the files of a day hold."""
    return PayloadObjects(f"file://{day.resolve()}", OBJECTS)


async def copy_objects(objects: PayloadObjects, day: Path, uids: Sequence[str]) -> None:
    """Copy the objects of tasks, before the tasks are deleted. Raises StoreUnavailable."""
    copies = objects_beside(day)
    for uid in uids:
        async for page in objects.listed(folder_of(uid)):
            for each in page:
                body = await objects.get(each.name)
                if body is not None:
                    await copies.put(each.name, body)
