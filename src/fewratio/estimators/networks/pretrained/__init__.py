"""Weights that come with the package. Each file's card, beside it, says what it is and how it was made."""

from pathlib import Path

UNIVERSAL = Path(__file__).parent / "universal.safetensors"
