"""The format of messages at brokers."""
