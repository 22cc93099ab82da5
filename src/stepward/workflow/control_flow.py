"""Control flow inside workflow code: BaseExceptions, so that no ``except Exception`` swallows them."""

from __future__ import annotations


class Halted(BaseException):
    """Leaves workflow code whose execution is over already: catching it changes nothing."""


class ContinueAsNew(BaseException):
    """Ends this run; ``input`` is the next one's argument array."""

    def __init__(self, input: bytes) -> None:
        super().__init__("continue_as_new")
        self.input = input
