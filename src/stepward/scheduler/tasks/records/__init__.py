"""Records of tasks: loaded into memory where they end, replayed, and deleted with former runs."""
