"""Warnings of the leader before anything fails."""

from stepward.supervisor.early_warnings.warning_checks import EarlyWarnings

__all__ = ["EarlyWarnings"]
