"""Charts of plain arrays as Vega-Lite specifications: for reports, and as pictures."""
