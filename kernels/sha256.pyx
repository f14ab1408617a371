"""Digests of short messages: the SHA-256 of every subset with its entries, eight at a time."""

from libc.stdint cimport uint8_t, uint64_t

from yahtzee_cluster.errors import KernelArgumentError


cdef extern from "sha256.h":
    void yc_sha256_sum(
        const uint8_t *subsets, const uint8_t *values, size_t n, size_t size, uint64_t *total
    ) noexcept nogil


def sum_of_digests(const uint8_t[::1] subsets, const uint8_t[::1] values):
    """Sum of the SHA-256 of each subset, 8 bytes, followed by its share of the values; all shares are equally long."""
    cdef size_t n = subsets.shape[0] // 8, size = values.shape[0] // n if n else 0
    if not subsets.shape[0]:
        return 0
    if 8 * n != <size_t>subsets.shape[0] or size * n != <size_t>values.shape[0] or size % 8:
        raise KernelArgumentError("subsets and values: expected 8 bytes and as many more, in eights, for each subset")
    if n >> 32:
        raise KernelArgumentError("subsets: expected at most 2^32 at a time")
    cdef uint64_t[8] total = [0, 0, 0, 0, 0, 0, 0, 0]
    cdef const uint8_t *first = &values[0] if size else NULL
    with nogil:
        yc_sha256_sum(&subsets[0], first, n, size, total)
    digest = 0
    for word in total:
        digest = (digest << 32) + word
    return digest
