"""Seeds that once found a bug of the library: each runs for ever, under the name of what it found."""

from __future__ import annotations

import pytest

from stepward.testing.run import run_seed

SEEDS = {
    "first_steps_of_the_next_run_left_before_their_commit": 0,
    "refused_settle_ended_the_scheduler": 2,
    "undo_spun_at_the_very_complete_by": 4,
    "drain_spun_while_the_store_was_away": 7,
    "abandoned_steps_were_forgotten_by_continue_as_new": 9,
    "task_that_cleaned_up_was_evicted_for_ever": 27,
    "agents_were_not_registered_again_after_an_outage": 29,
    "parent_waited_for_a_child_that_had_ended": 53,
    "continued_task_conflicted_with_its_own_submission": 63,
    "steps_were_repeated_after_undo_began": 118,
    "undo_spun_while_its_agent_had_no_room": 300,
}


@pytest.mark.parametrize("name", SEEDS)
def test_seed_holds(name: str) -> None:
    result = run_seed(SEEDS[name])
    assert not result.violations, "\n".join([*result.timeline, *result.violations])
