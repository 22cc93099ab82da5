"""A start that fails closes what it has opened, also where it is cancelled meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from stepward.runtime.cancelling import to_its_end


class Opened:
    """Something that is open, and takes a while to close."""

    def __init__(self, fails: bool = False) -> None:
        self.is_closing, self.may_close = asyncio.Event(), asyncio.Event()
        self.is_open = True
        self._fails = fails

    async def close(self) -> None:
        self.is_closing.set()
        await self.may_close.wait()
        self.is_open = False
        if self._fails:
            raise OSError("lost")


@pytest.mark.parametrize("fails", [False, True])
async def test_what_is_being_closed_is_closed_before_the_cancellation_is_raised(fails: bool) -> None:
    opened = Opened(fails)
    closing = asyncio.create_task(to_its_end(opened.close()))
    await opened.is_closing.wait()
    closing.cancel()
    opened.may_close.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not opened.is_open


async def test_an_error_of_the_close_is_raised() -> None:
    opened = Opened(fails=True)
    opened.may_close.set()
    with pytest.raises(OSError, match="lost"):
        await to_its_end(opened.close())
