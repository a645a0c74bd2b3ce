"""Evidence as text."""

import math
import re

from fewratio.core.wording import write_number

# Evidence that words name; above and below, its power of ten says enough. Powers in texts, and raised digits.
_SMALL, _HUGE, _SIZES = 1e-4, 1e15, {"trillion": 1e12, "billion": 1e9, "million": 1e6}
_POWER, _RAISED = re.compile(r"10\^(-?\d+)"), str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_evidence(evidence: float) -> str:
    """Write evidence: large numbers in words, huge and tiny ones as powers of ten, rounded down.

    Examples
    --------
    >>> write_evidence(12.3), write_evidence(405774574.0), write_evidence(8.87e19), write_evidence(3e-7)
    ('12.3', '406 million', '10^19', '10^-7')
    """
    rounded = float(f"{evidence:.3g}")
    if not _SMALL <= rounded < _HUGE:
        return f"10^{math.floor(math.log10(evidence))}" if evidence else "0"
    word = next((word for word, size in _SIZES.items() if rounded >= size), None)
    return write_number(rounded, 3) if word is None else f"{write_number(rounded / _SIZES[word], 3)} {word}"


def raise_powers(text: str) -> str:
    """Write powers of ten in a text with raised digits, as a page can show them.

    Examples
    --------
    >>> raise_powers("10^19 now")
    '10¹⁹ now'
    """
    return _POWER.sub(lambda found: "10" + found[1].translate(_RAISED), text)
