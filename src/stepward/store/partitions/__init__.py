"""One application over several stores: the placement of tasks, the identity of each store, and a store made of all."""
