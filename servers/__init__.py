"""Real servers for tests, the worked example and the benchmarks: started on loopback, ended with the process that
started them."""
