"""Colours of charts, and names that are short enough for them."""

FIRST, SECOND, OUTLIER, MUTED, GRID = "#009e73", "#9a6fb0", "#d55e00", "#6b7280", "#e5e7eb"
INK, PALE = "#1f2328", "#f4f4f5"
# Lines that matter less than those of the two samples.
BLUE, PINK = "#0072b2", "#cc79a7"


def shorten(name: object, length: int = 40) -> str:
    """Cut out the middle of a long name: names of columns and files often differ at their ends."""
    text = str(name)
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[:half].rstrip()}…{text[-half:].lstrip()}"
