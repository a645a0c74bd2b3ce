"""Pure functions on NumPy arrays and torch tensors, of any leading batch axes, and the file that tensors are kept in.

Import from the modules: those for tensors alone need torch.
"""
