"""Learning from related datasets in closed form."""
