"""The command line: one file for each verb, with its flags and what it does."""
