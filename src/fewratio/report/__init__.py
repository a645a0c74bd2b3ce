"""Reports: a result as one self-contained HTML file. `page` renders; the other modules supply the content."""
