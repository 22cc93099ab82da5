"""Settings: one frozen object, read from arguments, the environment and files, and validated whole."""

from stepward.settings.settings import Settings, names

__all__ = ["Settings", "names"]
