"""The parts of a store, one for each actor, as far as they are the same on every engine."""
