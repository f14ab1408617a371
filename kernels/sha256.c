/* SHA-256 of many short messages. The digests of a table are those of its subsets, which may be as short as 16 bytes;
   a call of a library for each would take several times as long as the hashing. */
#include "sha256.h"

#define LANES 8
#define BLOCK 64 /* bytes */

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#error "the kernels need a compiler with GNU C's vectors: gcc or clang"
#endif

typedef uint32_t lanes_t __attribute__((vector_size(4 * LANES)));

static const uint32_t START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define ROTATE(x, n) ((x) >> (n) | (x) << (32 - (n)))

static ALWAYS_INLINE void compress(lanes_t state[8], lanes_t w[16])
{
    lanes_t a = state[0], b = state[1], c = state[2], d = state[3];
    lanes_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        lanes_t word = w[t & 15];
        if (t >= 16) {
            lanes_t w2 = w[(t - 2) & 15], w15 = w[(t - 15) & 15];
            word += (ROTATE(w2, 17) ^ ROTATE(w2, 19) ^ w2 >> 10) + w[(t - 7) & 15];
            word += ROTATE(w15, 7) ^ ROTATE(w15, 18) ^ w15 >> 3;
            w[t & 15] = word;
        }
        lanes_t t1 = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + (g ^ (e & (f ^ g))) + K[t] + word;
        lanes_t t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) | (c & (a | b)));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static ALWAYS_INLINE uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Load the word at an offset of the padded messages number `first` and following; beyond the n-th it is 0. */
static ALWAYS_INLINE void load(
    lanes_t *word, size_t offset, const uint8_t *subsets, const uint8_t *values, size_t first, size_t n, size_t size)
{
    *word = (lanes_t){0};
    if (offset < 8 + size) {
        const uint8_t *bytes = offset < 8 ? subsets + 8 * first + offset : values + size * first + (offset - 8);
        size_t stride = offset < 8 ? 8 : size;
        for (size_t lane = 0; lane < LANES && first + lane < n; lane++)
            (*word)[lane] = big_endian(bytes + stride * lane);
    } else if (offset == 8 + size) {
        *word += UINT32_C(1) << 31;
    }
}

static ALWAYS_INLINE void sum(
    const uint8_t *subsets, const uint8_t *values, size_t n, size_t size, uint64_t total[8])
{
    size_t padded = (8 + size + 9 + BLOCK - 1) / BLOCK * BLOCK;
    for (size_t first = 0; first < n; first += LANES) {
        lanes_t state[8], w[16];
        for (int i = 0; i < 8; i++)
            state[i] = (lanes_t){0} + START[i];
        for (size_t block = 0; block < padded; block += BLOCK) {
            for (size_t t = 0; t < 16; t++)
                load(&w[t], block + 4 * t, subsets, values, first, n, size);
            if (block + BLOCK == padded) { /* the number of bits, in 64 bits */
                w[14] += (uint32_t)((uint64_t)(8 + size) >> 29);
                w[15] += (uint32_t)(8 * (8 + size));
            }
            compress(state, w);
        }
        for (int i = 0; i < 8; i++)
            for (size_t lane = 0; lane < LANES && first + lane < n; lane++)
                total[i] += state[i][lane];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void sum_avx2(
    const uint8_t *subsets, const uint8_t *values, size_t n, size_t size, uint64_t total[8])
{
    sum(subsets, values, n, size, total);
}
#endif

void yc_sha256_sum(const uint8_t *subsets, const uint8_t *values, size_t n, size_t size, uint64_t total[8])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sum_avx2(subsets, values, n, size, total);
        return;
    }
#endif
    sum(subsets, values, n, size, total);
}
