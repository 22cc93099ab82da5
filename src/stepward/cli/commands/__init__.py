"""The commands: tasks/, system/, and `run` for the actors."""
