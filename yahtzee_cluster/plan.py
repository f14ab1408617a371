"""`python -m yahtzee_cluster.plan`: the same as `yahtzee-cluster plan`."""

from __future__ import annotations

from yahtzee_cluster.commands.plan import add_flags, run
from yahtzee_cluster.output import Parser, print_result_of


def main() -> int:
    """Print a plan; return the exit code."""
    parser = Parser(prog="python -m yahtzee_cluster.plan")
    add_flags(parser)
    return print_result_of(parser.prog, lambda: run(parser.parse_args()))


if __name__ == "__main__":
    raise SystemExit(main())
