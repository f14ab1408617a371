"""Tables of games on disk: opening one, reading values from it, checking and judging it."""
