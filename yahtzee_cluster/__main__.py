"""`python -m yahtzee_cluster` and the console script: until everything is loaded, Ctrl-C ends them without a story."""

import signal

handler = signal.getsignal(signal.SIGINT)
if handler is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from yahtzee_cluster.commands import cli  # noqa: E402


def main() -> int:
    """Run one command; return its exit code."""
    signal.signal(signal.SIGINT, handler)
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
