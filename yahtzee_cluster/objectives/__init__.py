"""What to optimise: each module solves one recursion over the anchors with the kernels."""
