"""What ``fewratio demo`` shows."""
