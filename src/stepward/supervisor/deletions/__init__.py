"""What a deletion leaves to be done outside the store, by the Supervisor that leads."""
