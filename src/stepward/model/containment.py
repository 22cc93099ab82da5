"""Where functions of the application are called: nothing that they raise may end what else the process does."""

from __future__ import annotations

import asyncio

from stepward.errors import message_of
from stepward.model.current import FinishedLater

ORDINARY = (Exception, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, FinishedLater)
"""What may leave a function as it is: a failure, an end that comes from outside, or one that is put off."""


class Contained:
    """Turns what would end the process, such as a function's ``sys.exit()``, into a failure of that function."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and not isinstance(error, ORDINARY):
            raise RuntimeError(f"function raised {type(error).__name__}: {message_of(error)}") from error


contained = Contained()
