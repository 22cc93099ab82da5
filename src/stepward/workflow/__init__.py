"""Workflows: how they are declared, run deterministically, replayed and undone. Pure: no I/O and no clock."""
