"""A table on disk: classes, header, lock, the directory of a run, and verification."""
