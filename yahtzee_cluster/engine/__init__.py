"""Decides what is computed where and when: pure state machines, without clock, disk, threads or MPI."""
