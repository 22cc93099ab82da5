"""Warnings of the leader before anything fails."""

from stepward.supervisor.early_warnings.check import EarlyWarnings

__all__ = ["EarlyWarnings"]
