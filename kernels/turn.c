/* The turn's operators, compiled once for each instruction set, and the tables they share. */
#include "turn.h"

#include <math.h>
#include <string.h>

#ifdef YC_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)
#else
#define CHECK(condition) ((void)0)
#endif

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif

/* ------------------------------------------------------------------------------------------------- program */

static int lowest_bit(unsigned set)
{
    int bit = 0;
    while (!(set >> bit & 1))
        bit++;
    return bit;
}

static int size_of(unsigned set)
{
    int size = 0;
    for (; set; set &= set - 1)
        size++;
    return size;
}

static uint16_t slot_of(yc_program *program, int outcome)
{
    CHECK(0 <= outcome && outcome < YC_MAX_OUTCOMES);
    if (program->slot[outcome] == UINT16_MAX) {
        program->slot[outcome] = (uint16_t)program->n_slots;
        program->outcome[program->n_slots++] = (uint16_t)outcome;
    }
    return program->slot[outcome];
}

/* The row and the legal categories of every roll: only further Yahtzees have more than one row. */
static void look_up_rolls(const yc_moves *moves, unsigned free, int chip, yc_program *program)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        program->row[roll] = (uint16_t)roll;
        program->legal[roll] = (uint16_t)free;
    }
    for (int face = 0; face < YC_FACES; face++) {
        size_t state = (size_t)free * YC_FACES + (size_t)face;
        int roll = moves->fives[face];
        int variant = 2 * (moves->joker[state] != 0) + (chip != 0);
        if (variant)
            program->row[roll] = (uint16_t)(YC_ROLLS + face * (YC_VARIANTS - 1) + variant - 1);
        program->legal[roll] = moves->legal[state];
    }
}

void yc_prepare(const yc_moves *moves, unsigned free, int chip, int merge_zeros, yc_program *program)
{
    uint16_t chosen[YC_ROLLS];
    uint16_t members[2][YC_CATEGORIES + 1] = {{0}};
    unsigned with_zero = 0;

    program->n_slots = program->n_zeros = 0;
    memset(program->slot, 0xff, sizeof program->slot);
    look_up_rolls(moves, free, chip, program);

    if (merge_zeros)
        for (int roll = 0; roll < YC_ROLLS; roll++)
            for (unsigned left = free & ~with_zero & ~moves->scoring[roll]; left; left &= left - 1) {
                int category = lowest_bit(left);
                with_zero |= 1u << category;
                slot_of(program, moves->outcome_of[roll * YC_CATEGORIES + category]);
            }
    program->n_zeros = program->n_slots;

    for (int roll = 0; roll < YC_ROLLS; roll++) {
        int alone = !merge_zeros || program->legal[roll] != free;
        chosen[roll] = alone ? program->legal[roll] : (uint16_t)(free & moves->scoring[program->row[roll]]);
        members[alone][size_of(chosen[roll])]++;
    }
    uint16_t place = 0;
    for (int alone = 0; alone < 2; alone++) {
        for (int size = 0; size <= YC_CATEGORIES; size++) {
            program->first[alone][size] = place;
            place = (uint16_t)(place + members[alone][size]);
        }
        program->first[alone][YC_CATEGORIES + 1] = place;
    }
    CHECK(place == YC_ROLLS);

    uint16_t next[2][YC_CATEGORIES + 1];
    for (int alone = 0; alone < 2; alone++)
        memcpy(next[alone], program->first[alone], sizeof next[alone]);
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        int alone = !merge_zeros || program->legal[roll] != free;
        program->roll[next[alone][size_of(chosen[roll])]++] = (uint16_t)roll;
    }
    uint16_t *slots = program->slots;
    for (place = 0; place < YC_ROLLS; place++) {
        int roll = program->roll[place];
        for (unsigned left = chosen[roll]; left; left &= left - 1)
            *slots++ = slot_of(program,
                               moves->outcome_of[program->row[roll] * YC_CATEGORIES + lowest_bit(left)]);
    }
}

/* ------------------------------------------------------------------------------------------ instruction sets */

#define PASTE(a, b) a##_##b
#define NAMED(isa, name) PASTE(isa, name)
#define YC(name) NAMED(ISA, name)

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define ISA avx512
#define WIDTH 8
#define RUNS_HERE (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
#define vec __m512d
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define SET1 _mm512_set1_pd
#define ADD _mm512_add_pd
#define SUB _mm512_sub_pd
#define MUL _mm512_mul_pd
#define MAX _mm512_max_pd
#define ABS _mm512_abs_pd
#define MAX_WHERE(kept, value, bar, other) \
    _mm512_mask_max_pd(kept, _mm512_cmp_pd_mask(value, bar, _CMP_GE_OQ), kept, other)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq")
#endif
#include "turn_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define ISA avx2
#define WIDTH 4
#define RUNS_HERE __builtin_cpu_supports("avx2")
#define vec __m256d
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define SET1 _mm256_set1_pd
#define ADD _mm256_add_pd
#define SUB _mm256_sub_pd
#define MUL _mm256_mul_pd
#define MAX _mm256_max_pd
#define ABS(x) _mm256_andnot_pd(_mm256_set1_pd(-0.0), x)
#define MAX_WHERE(kept, value, bar, other) \
    _mm256_max_pd(kept, _mm256_blendv_pd(LEAST, other, _mm256_cmp_pd(value, bar, _CMP_GE_OQ)))
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#include "turn_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define ISA sse2
#define WIDTH 2
#define RUNS_HERE 1
#define vec __m128d
#define LOAD _mm_loadu_pd
#define STORE _mm_storeu_pd
#define SET1 _mm_set1_pd
#define ADD _mm_add_pd
#define SUB _mm_sub_pd
#define MUL _mm_mul_pd
#define MAX _mm_max_pd
#define ABS(x) _mm_andnot_pd(_mm_set1_pd(-0.0), x)
#define MAX_WHERE(kept, value, bar, other) YC(max_where)(kept, _mm_cmpge_pd(value, bar), other)
static inline __m128d sse2_max_where(__m128d kept, __m128d mask, __m128d other)
{
    __m128d least = _mm_andnot_pd(mask, _mm_set1_pd(-INFINITY));
    return _mm_max_pd(kept, _mm_or_pd(_mm_and_pd(mask, other), least));
}
#include "turn_body.h"
#endif

#define ISA portable
#define WIDTH 1
#define RUNS_HERE 1
#define vec double
#define LOAD(address) (*(address))
#define STORE(address, x) (*(address) = (x))
#define SET1(x) (x)
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define MAX(a, b) portable_max(a, b)
#define ABS(x) fabs(x)
#define MAX_WHERE(kept, value, bar, other) ((value) >= (bar) ? portable_max(kept, other) : (kept))
static inline double portable_max(double a, double b)
{
    return a > b ? a : b;
}
#include "turn_body.h"

const yc_isa *const yc_isas[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    &avx512_isa, &avx2_isa, &sse2_isa,
#endif
    &portable_isa, NULL,
};
