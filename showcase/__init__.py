"""The showcase: orders that meet every fault, processes that are killed, and the proof that the books agree."""
