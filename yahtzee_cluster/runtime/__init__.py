"""Runs a computation: threads, MPI, processes, signals, progress, planning, and the command itself."""
