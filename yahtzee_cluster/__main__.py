"""`python -m yahtzee_cluster` and the console script: until all is loaded, Ctrl-C ends them without a traceback."""

import signal

from yahtzee_cluster.runtime.environment import prepare_numerics
from yahtzee_cluster.runtime.signals import end_quietly_on_interrupt

handler = signal.getsignal(signal.SIGINT)
if handler is signal.default_int_handler:
    end_quietly_on_interrupt()
prepare_numerics()

from yahtzee_cluster.commands import cli  # noqa: E402


def main() -> int:
    """Run one command; return its exit code."""
    signal.signal(signal.SIGINT, handler)
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
