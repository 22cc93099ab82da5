"""What ``check`` finds wrong with the store, the server and the versions at work."""
