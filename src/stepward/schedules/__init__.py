"""Schedules: their nominal times, and the tasks that they start."""

from stepward.model.schedule_overlap import OverlapPolicy
from stepward.schedules.nominal_times import CatchUp

__all__ = ["CatchUp", "OverlapPolicy"]
