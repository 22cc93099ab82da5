"""Bash breaks words at colons: ``shop.py:app`` and ``order:1`` arrive as three."""

from __future__ import annotations

from typing import Any

from click.shell_completion import BashComplete, CompletionItem

COLON = ":"


class BashWords(BashComplete):
    """Click's completion for Bash, with words that hold colons put together again."""

    _begun = ""
    """The part of the last word that Bash has already, up to its last colon."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The whole words before the one to complete, and that one's beginning."""
        before, last = super().get_completion_args()
        *words, begun = joined([*before, last])
        self._begun = begun[: begun.rindex(COLON) + 1] if COLON in begun else ""
        return words, begun

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """An offered word as Bash inserts it: without what stands there before the last colon."""
        return f"{item.type},{item.value.removeprefix(self._begun)}"


def joined(parts: list[str]) -> list[str]:
    """Words that Bash broke at colons, whole: ``["shop.py", ":", "app"]`` becomes ``["shop.py:app"]``."""
    words: list[str] = []
    is_open = False
    for part in parts:
        if (part == COLON or is_open) and words:
            words[-1] += part
        else:
            words.append(part)
        is_open = part == COLON
    return words
