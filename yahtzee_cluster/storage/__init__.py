"""A table on disk: classes, header, lock, and verification of any table."""
