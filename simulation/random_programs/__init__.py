"""Random workflows, the ends that they may have, and the clients that run them."""
