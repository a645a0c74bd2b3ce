"""The density ratio at the rows of a table."""
