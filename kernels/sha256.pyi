import numpy as np
from numpy.typing import NDArray

def sum_of_digests(subsets: NDArray[np.uint8], values: NDArray[np.uint8]) -> int: ...
