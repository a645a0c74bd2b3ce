"""Reports: a result as one HTML file that needs nothing else. `page` renders, the other modules say what of."""
