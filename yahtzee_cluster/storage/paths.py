"""The names of all files and directories of a table on disk.

DIR/zarr.json                   the header, a Zarr group
DIR/classes/LAYER-PART/         a class: zarr.json with digest and seal, and one shard, c.0
DIR/index/                      where the rows of each state lie, for other readers
DIR/.lock                       locked by the run that writes the table
DIR/.partial/TOKEN/             the directory of that run
"""

from __future__ import annotations

METADATA = "zarr.json"
"""Zarr's metadata of a group or an array."""
SHARD = "c.0"
"""The one file of a class that holds values."""
DROPPED = "dropped"
"""Marker, an empty file: the values of this class were dropped, or are about to be."""
CLASSES = "classes"
INDEX = "index"
LOCK = ".lock"
ASIDE = ".partial"
DEAD = "dead-"
"""Prefix of a tombstone in the directory of a run; the number of the dead worker follows."""
EVERYTHING = (LOCK, ASIDE, CLASSES, INDEX, METADATA)
