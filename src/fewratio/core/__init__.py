"""Pure functions on NumPy arrays and torch tensors with any leading batch axes, and the file format for tensors.

Import from the modules: only those for tensors need torch.
"""
