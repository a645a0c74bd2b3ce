"""How two datasets differ."""
