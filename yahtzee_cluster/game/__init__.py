"""The game as data: dice, rules, states between turns, notation, and a reference implementation."""
