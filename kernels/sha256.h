/* SHA-256 (FIPS 180-4) of eight messages of equal length at a time, each with a vector lane of its own. */
#ifndef YC_SHA256_H
#define YC_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Sum the SHA-256 of `n` messages: word w of all digests is added to total[w], without carries between words.
   Message i is the 8 bytes at `subsets + 8 i`, followed by the `size` bytes at `values + size i`; size is a multiple
   of 4, and n at most 2^32. */
void yc_sha256_sum(const uint8_t *subsets, const uint8_t *values, size_t n, size_t size, uint64_t total[8]);

#endif
