"""Exact optimal play for Yahtzee-like dice games."""

__version__ = "0.1.0"
