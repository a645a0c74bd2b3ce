"""Colours of charts."""

FIRST, SECOND, OUTLIER, MUTED, GRID = "#009e73", "#9a6fb0", "#d55e00", "#6b7280", "#e5e7eb"
INK, PALE = "#1f2328", "#f4f4f5"
# Lines that matter less than those of the two samples.
BLUE, PINK = "#0072b2", "#cc79a7"
