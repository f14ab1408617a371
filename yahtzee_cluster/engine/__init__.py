"""Partition, schedule and cache of a run, as pure state machines: no clock, disk, threads or MPI."""
