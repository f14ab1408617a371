"""`python -m yahtzee_cluster`: the same as the console script."""

from yahtzee_cluster.cli import main

raise SystemExit(main())
