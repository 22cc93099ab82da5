"""Seeds that once found a bug of the library: each runs for ever, under the name of what it found."""

from __future__ import annotations

import pytest

from stepward.testing.run import run_seed

SEEDS = {
    "first_steps_of_the_next_run_left_before_their_commit": 0,
    "abandoned_steps_were_forgotten_by_continue_as_new": 2,
    "refused_settle_ended_the_scheduler": 3,
    "undo_spun_at_the_very_complete_by": 10,
    "steps_were_repeated_after_undo_began": 18,
    "task_that_cleaned_up_was_evicted_for_ever": 27,
    "refused_adoption_ended_the_scheduler": 31,
    "watch_of_a_turn_outlived_its_answer": 39,
    "start_of_a_turn_outlived_its_abandonment": 54,
    "continued_task_conflicted_with_its_own_submission": 63,
    "parents_that_wait_for_children_left_them_no_room": 94,
    "agents_were_not_registered_again_after_an_outage": 131,
    "scheduler_fenced_while_it_learned_of_room": 153,
    "parent_waited_for_a_child_that_had_ended": 207,
    "undo_spun_while_its_agent_had_no_room": 300,
    "answers_to_judged_steps_were_refused_for_ever": 1178,
    "step_given_up_and_answered_in_one_turn_missed_for_ever": 1647,
    "undoing_parent_past_a_deadline_kept_its_room": 5141,
}


@pytest.mark.parametrize("plain", [True, False], ids=["as it was", "as it is"])
@pytest.mark.parametrize("name", SEEDS)
def test_seed_holds(name: str, plain: bool) -> None:
    result = run_seed(SEEDS[name], plain=plain)
    assert not result.violations, "\n".join([*result.timeline, *result.violations])
