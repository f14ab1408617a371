from yahtzee_cluster.kernels.turn import Values
from yahtzee_cluster.kernels.uppers import ByWorth

def mean(decider: ByWorth, payoffs: Values, crossing: float, out: Values) -> None: ...
