"""The simulated machine: time, processes, queues, the store, and the faults in them."""
