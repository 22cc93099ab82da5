"""Real servers for tests, the worked example and the benchmarks: begun on loopback, gone with whoever began them."""
