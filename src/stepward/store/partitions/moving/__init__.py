"""The share of a new store: a store is added without any tasks, and the shards of its share move there one by one."""
