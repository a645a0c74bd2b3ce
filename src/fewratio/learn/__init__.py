"""Models learned from related datasets, as commands."""
