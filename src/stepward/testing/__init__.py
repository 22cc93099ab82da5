"""The kit for tests of applications: real actors on a virtual clock, with faults that a test asks for.

async with environment(app, fakes={charge: fake_charge}) as env:
    task = await env.client.submit(fulfil, "A-1", 4200)
    await env.skip("3d")
    assert await task.result() == "parcel-A-1"
"""

from stepward.errors import NothingDue
from stepward.testing.app_environment import AppEnvironment, environment
from stepward.testing.exploration import explore
from stepward.testing.fakes import OperationCall
from stepward.testing.replays import replay
from stepward.testing.undo_check import check_undo

__all__ = ["AppEnvironment", "NothingDue", "OperationCall", "check_undo", "environment", "explore", "replay"]
