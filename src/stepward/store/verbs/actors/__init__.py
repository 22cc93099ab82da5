"""The verbs of each actor: the classes that implement its part of the contract, as far as the engines share them."""
