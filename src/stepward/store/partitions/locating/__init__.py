"""Where shards and tasks are: which store holds each shard, and tasks that are elsewhere than their ids are placed."""
