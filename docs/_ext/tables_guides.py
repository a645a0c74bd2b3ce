"""Tables of the guides, made from records."""
