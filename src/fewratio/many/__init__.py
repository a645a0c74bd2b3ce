"""Many datasets: all pairs of them, and an index to search."""
