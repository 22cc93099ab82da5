"""What ``check`` and ``show`` find wrong with the store, the server and the versions at work."""
