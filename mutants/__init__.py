"""Mutants: small changes to Stepward's code, each chosen by hand and each wrong, and the tests that must find them.

``make mutants`` applies one after the other to a copy of the tree and runs the tests that it names. A mutant is *found*
if one of them fails; one that lives shows a promise that no test holds.

The catalogue is ``mutants/catalogue/AREA.toml``, a file per area. An entry is

    [[mutant]]
    id = "unknown-outcomes-oldest"              # unique in its area; AREA/ID names it
    file = "src/stepward/workflow/undo_planner.py"      # of this tree, any file that tests read
    old = "return (step.run, 1, step.number)"   # stands exactly once in that file
    new = "return (step.run, -1, step.number)"
    wrong = "A step whose outcome is unknown is undone last, after what it was built on."
    tests = ["tests/workflow/test_undo_plan.py::test_what_is_undone_and_in_which_order"]

``tests`` are pytest's node ids or files, a few that take some 3 s together. Marks are not looked at, so a test of
``make faults`` may stand there, and a test that runs on several stores or brokers is named with the case that is meant.
Tests that need a real server start it themselves, for each mutant again. Text of several lines stands between ``'''``,
of which the first line break is dropped.

A mutant is worth keeping if it is a plausible mistake, and breaks a promise that a user would miss.
A mutant without a visible effect is replaced, and one that lives gets a test. ``make test`` runs none of
them. It proves that each still fits the code, so a change of a line that a mutant holds changes the mutant with it.
"""
