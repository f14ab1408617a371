"""Execution of a run: threads, MPI, processes, signals, progress, planning, and the command itself."""
