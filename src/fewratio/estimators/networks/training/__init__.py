"""Training tasks: episodes drawn from pools of rows of datasets."""
