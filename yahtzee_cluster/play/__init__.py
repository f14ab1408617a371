"""Playing a game: advice, strategies, and duels, exact or with dice."""
