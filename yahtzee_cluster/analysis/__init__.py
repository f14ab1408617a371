"""Exact statistics of whole games, strategies compared, and the report of both."""
