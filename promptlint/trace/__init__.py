"""Request logs: readers, simulation, capacity curves, causes of misses."""
