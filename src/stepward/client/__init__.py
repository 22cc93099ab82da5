"""The applications' door: submit tasks, follow them, and act on them."""

from stepward.client.client import Client
from stepward.client.handle import UNSET, TaskHandle, TaskStatus
from stepward.client.waiting import Endings

__all__ = ["UNSET", "Client", "Endings", "TaskHandle", "TaskStatus"]
