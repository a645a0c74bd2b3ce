"""Rows that are unlike rows known to be normal."""
