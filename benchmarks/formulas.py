"""Formulas for the sizes of classes when every subset exists and has `n_values` = |B| entries.

(5.6) is the number in Cremers' thesis (2002), which does not have the other two.
"""

from math import comb


def class_values(n_rest: int, n_chosen: int, n_values: int) -> int:
    """(5.6): how many values a class holds whose members have `n_chosen` elements outside G."""
    return comb(n_rest, n_chosen) * n_values


def chain_values(n_elements: int, n_fixed: int, n_values: int) -> int:
    """How many values are computed one after the other, at least: those of the longest chain of classes."""
    n_rest = n_elements - n_fixed
    return ((1 << n_rest) + n_fixed * comb(n_rest, n_rest // 2)) * n_values


def most_busy(n_elements: int, n_fixed: int) -> float:
    """How many workers are kept busy, at most: what there is to compute, over the longest chain."""
    return (1 << n_elements) / chain_values(n_elements, n_fixed, 1)
