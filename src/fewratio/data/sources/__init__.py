"""One file for each source of data."""
