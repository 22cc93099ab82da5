"""The roles of the processes of a seed: how many processes there are, and which actors each runs."""

from __future__ import annotations

import random

from stepward.host import Roles


def drawn_roles(chance: random.Random) -> dict[str, Roles]:
    """Processes with actors; the first has every role."""
    count = chance.choice([1, 2, 2, 3])
    roles = {}
    for number in range(count):
        agents = None if number == 0 or chance.random() < 0.5 else frozenset(chance.sample(["pay", "ship", "mail"], 2))
        roles[f"p{number}"] = Roles(
            scheduler=number == 0 or chance.random() < 0.7,
            agents=agents,
            supervisor=number == 0 or chance.random() < 0.5,
            submission=False,
        )
    return roles


def drawn_submitters(chance: random.Random) -> dict[str, Roles]:
    """Processes that only submit messages."""
    alone = Roles(scheduler=False, agents=frozenset(), supervisor=False)
    return {f"m{number}": alone for number in range(chance.choice([0, 0, 1, 2]))}
