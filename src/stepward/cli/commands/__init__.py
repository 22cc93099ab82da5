"""The commands: of tasks/, the system/ and the store/, and `run` for the actors."""
