"""A scenario is run through the faults of many seeds; what breaks it is named by its seed."""

from __future__ import annotations

import pytest

from stepward import Agent, App, Supervision, workflow
from stepward.errors import DeclarationError, TaskUndone
from stepward.testing import AppEnvironment, explore

bank = Agent("bank")


@bank.operation(complete_by="10s")
async def take(cents: int) -> int:
    raise AssertionError("the real service was called")


@take.undo
async def give_back(taken: int | None, cents: int) -> None:
    raise AssertionError("the real service was called")


@workflow(supervision=Supervision(threshold=3, then="undo"))
async def pay(cents: int) -> int:
    return await take(cents)


app = App("bank", workflows=[pay], agents=[bank])


async def fake_take(cents: int) -> int:
    return cents


async def fake_give_back(taken: int | None, cents: int) -> None: ...


FAKES = {take: fake_take, give_back: fake_give_back}


async def _pays(env: AppEnvironment) -> None:
    task = await env.client.submit(pay, 10)
    try:
        await task.result()
    except TaskUndone:
        assert env.calls(give_back)


async def _pays_at_the_first_call(env: AppEnvironment) -> None:
    await _pays(env)
    assert len(env.calls(take)) == 1, "take was called more than once"


def test_a_scenario_that_holds_passes_every_seed() -> None:
    explore(app, _pays, seeds=30, fakes=FAKES)


def test_a_scenario_that_faults_break_is_named_by_its_seed_which_breaks_it_again() -> None:
    with pytest.raises(AssertionError, match="take was called more than once") as found:
        explore(app, _pays_at_the_first_call, seeds=100, fakes=FAKES)
    seed = int(str(found.value).partition("first=")[2].partition(")")[0])

    with pytest.raises(AssertionError, match=f"seed {seed} "):
        explore(app, _pays_at_the_first_call, seeds=1, first=seed, fakes=FAKES)


@pytest.mark.parametrize("seeds", [0, -1, "3"])
def test_a_number_of_seeds_that_cannot_be_is_refused(seeds: int) -> None:
    with pytest.raises(DeclarationError, match="expected seeds from 1"):
        explore(app, _pays, seeds=seeds)
