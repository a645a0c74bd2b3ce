"""Evidence as text."""

import math
import re

from fewratio.core.wording import write_large

# Evidence from which on its power of ten says enough; powers in texts, and raised digits.
_HUGE, _POWER, _RAISED = 1e15, re.compile(r"10\^(-?\d+)"), str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_evidence(evidence: float) -> str:
    """Write evidence: large numbers by words, huge ones as a power of ten, rounded down.

    Examples
    --------
    >>> write_evidence(12.3), write_evidence(405774574.0), write_evidence(8.87e19)
    ('12.3', '406 million', '10^19')
    """
    return write_large(evidence) if evidence < _HUGE else f"10^{math.floor(math.log10(evidence))}"


def raise_powers(text: str) -> str:
    """Write powers of ten in a text with raised digits, as a page can show them.

    Examples
    --------
    >>> raise_powers("10^19 now")
    '10¹⁹ now'
    """
    return _POWER.sub(lambda found: "10" + found[1].translate(_RAISED), text)
