"""The checks of the contract, by subject."""
