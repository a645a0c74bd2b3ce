"""The former place of `fewratio.data.table`; to be dropped once nothing imports from here."""

from fewratio.data.table import Table, as_table, check_same_features

__all__ = ["Table", "as_table", "check_same_features"]
