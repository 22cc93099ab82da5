"""The form in which messages travel over brokers."""
