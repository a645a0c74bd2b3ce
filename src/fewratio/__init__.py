"""Tell how two datasets differ from a handful of instances."""

__version__ = "0.1.0"
