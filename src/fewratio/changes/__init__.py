"""When a series changed."""
