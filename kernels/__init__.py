"""The compiled code: one turn of the game on vectors, and the loops that apply it to whole tables."""

from yahtzee_cluster.errors import KernelsMissingError

try:
    from yahtzee_cluster.kernels import turn as turn
except ImportError as error:
    raise KernelsMissingError(f"the kernels cannot be loaded, build them with `make setup`: {error}") from error
