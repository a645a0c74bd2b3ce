"""Commands for models that learn from related datasets."""
