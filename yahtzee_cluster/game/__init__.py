"""The game as data: dice, rules, states between turns, notation, and the reference that judges fast code."""
