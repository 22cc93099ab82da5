"""What must be true of a run's books, whatever went wrong on the way."""

from torture.oracle.judge import judge

__all__ = ["judge"]
