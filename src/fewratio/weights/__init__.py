"""Weights that make one sample resemble another."""
