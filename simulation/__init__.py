"""The simulation, and what applications test with."""
