"""The parts of ``show``."""
