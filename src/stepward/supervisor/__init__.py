"""The Supervisor: watches steps and instances through the store alone, and decides what follows (R9)."""

from stepward.supervisor.pass_report import PassReport
from stepward.supervisor.supervisor import Supervisor

__all__ = ["PassReport", "Supervisor"]
