"""An application's queues, for processes that submit and read events."""
