"""Seeds named by what they are for."""

import hashlib


def seed_for(*role: object) -> int:
    """Derive a seed from what it is for. Seeds of splits and supports never name the method: tests are paired."""
    return int.from_bytes(hashlib.sha256(repr(role).encode()).digest()[:8]) >> 1
