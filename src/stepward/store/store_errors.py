"""Errors that every engine words alike: of data, commits whose answer was lost, and stores that are closed."""

from __future__ import annotations

from stepward.errors import CommitUnknown, Refused, StoreUnavailable, StoreUnusable


class ShardElsewhere(StoreUnavailable):
    """The store holds the shard of an id no more: it is at, or on its way to, another partition."""

    def __init__(self, shard: int) -> None:
        self.shard = shard
        super().__init__(
            f"shard {shard}: expected it in this store, found it moved to another partition; ask again, and "
            "start the process with every store of the application if that goes on"
        )

    def __reduce__(self) -> tuple[type[ShardElsewhere], tuple[int]]:
        return ShardElsewhere, (self.shard,)


class OtherApplication(StoreUnusable):
    """The store is that of another application: the address is wrong, and not the store."""


def detail(error: BaseException) -> str:
    """What a driver said, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def refused(error: BaseException, place: str) -> Refused:
    """Data that the store does not take."""
    return Refused(f"store {place}: expected data that its tables allow, found {detail(error)}; correct the data")


def commit_unknown(error: BaseException, place: str) -> CommitUnknown:
    """A commit whose answer was lost."""
    return CommitUnknown(f"store {place}: expected a commit done, found {detail(error)}; read what became of it")


def closed(place: str) -> StoreUnavailable:
    """A store object that is not open."""
    return StoreUnavailable(
        f"store {place}: expected an open store, found a closed one; use it before its client or app.running() ends"
    )
