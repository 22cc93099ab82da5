"""A refusal: what is wrong with a request as a whole, in a customer's words."""

from __future__ import annotations


class PageRefusal(Exception):
    """The answer is a page of that status; what is wrong with one field stands beside the field instead."""

    def __init__(self, status: int, title: str, words: str) -> None:
        super().__init__(f"{title}: {words}")
        self.status = status
        self.title = title
        self.words = words
