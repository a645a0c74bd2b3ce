"""Pictures of results, from plain arrays; matplotlib is imported when one is drawn."""
