"""The parts of a store, one for each actor, as far as the engines share them."""
