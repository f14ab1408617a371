/* The operators of a turn, compiled once for each instruction set, and the tables that they share. */
#include "turn.h"

#include <math.h>
#include <string.h>

#include "lattice.h"

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
#define ALWAYS_INLINE __attribute__((always_inline))
#else
#define NOINLINE
#define ALWAYS_INLINE
#endif

/* ------------------------------------------------------------------------------------------------- program */

static inline int lowest_bit(unsigned set)
{
#if defined(__GNUC__)
    return __builtin_ctz(set);
#else
    int bit = 0;
    while (!(set >> bit & 1))
        bit++;
    return bit;
#endif
}

/* The number of categories in a set, by parallel bit counts: not every processor has an instruction for it. */
static inline unsigned size_of(unsigned set)
{
    set -= set >> 1 & 0x5555;
    set = (set & 0x3333) + (set >> 2 & 0x3333);
    set = (set + (set >> 4)) & 0x0f0f;
    return (set + (set >> 8)) & 0x1f;
}

static inline uint16_t slot_of(yc_program *program, int outcome)
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

void yc_prepare(const yc_moves *moves, unsigned free, int chip, int merge_zeros, size_t vector,
                yc_program *program)
{
    uint16_t chosen[YC_ROLLS], sorted[YC_ROLLS], next[2][YC_CATEGORIES + 1] = {{0}};
    uint8_t alone[YC_ROLLS], size[YC_ROLLS];

    program->n_slots = 0;
    memset(program->slot, 0xff, (size_t)moves->n_outcomes * sizeof *program->slot);
    if (merge_zeros)
        for (unsigned left = free; left; left &= left - 1)
            if (moves->zero_of[lowest_bit(left)] >= 0)
                slot_of(program, moves->zero_of[lowest_bit(left)]);
    program->n_zeros = program->n_slots;

    look_up_rolls(moves, free, chip, program);
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        alone[roll] = !merge_zeros || program->legal[roll] != free;
        chosen[roll] = alone[roll] ? program->legal[roll] : (uint16_t)(free & moves->scoring[program->row[roll]]);
        size[roll] = (uint8_t)size_of(chosen[roll]);
        next[alone[roll]][size[roll]]++;
    }
    uint16_t place = 0;
    program->n_runs = 0;
    for (int group = 0; group < 2; group++) {
        for (int n = 0; n <= YC_CATEGORIES; n++) {
            uint16_t members = next[group][n];
            next[group][n] = place;
            place = (uint16_t)(place + members);
            if (members) {
                program->runs[program->n_runs].n_slots = (uint16_t)n;
                program->runs[program->n_runs++].n_rolls = members;
            }
        }
        if (group == 0)
            program->n_zero_runs = program->n_runs;
    }
    CHECK(place == YC_ROLLS);
    for (int roll = 0; roll < YC_ROLLS; roll++)
        sorted[next[alone[roll]][size[roll]]++] = (uint16_t)roll;

    uint16_t *slots = program->slots;
    uint8_t listed[YC_CATEGORIES];
    unsigned in_list = 0;
    for (place = 0; place < YC_ROLLS; place++) {
        int roll = sorted[place];
        program->target[place] = (uint16_t)(vector * place_of[YC_FIRST_ROLL + roll]);
        const int16_t *outcome_of = moves->outcome_of + program->row[roll] * YC_CATEGORIES;
        if (chosen[roll] != in_list) {
            in_list = chosen[roll];
            uint8_t *next_listed = listed;
            for (unsigned left = in_list; left; left &= left - 1)
                *next_listed++ = (uint8_t)lowest_bit(left);
        }
        for (int i = 0; i < size[roll]; i++)
            *slots++ = (uint16_t)(vector * slot_of(program, outcome_of[listed[i]]));
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
#define IF_NOT_BELOW(value, bar, then, other) \
    _mm512_mask_mov_pd(other, _mm512_cmp_pd_mask(value, bar, _CMP_GE_OQ), then)
#define IF_EQUAL(a, b, then, other) _mm512_mask_mov_pd(other, _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ), then)
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
#define IF_NOT_BELOW(value, bar, then, other) _mm256_blendv_pd(other, then, _mm256_cmp_pd(value, bar, _CMP_GE_OQ))
#define IF_EQUAL(a, b, then, other) _mm256_blendv_pd(other, then, _mm256_cmp_pd(a, b, _CMP_EQ_OQ))
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
#define IF_NOT_BELOW(value, bar, then, other) YC(pick)(_mm_cmpge_pd(value, bar), then, other)
#define IF_EQUAL(a, b, then, other) YC(pick)(_mm_cmpeq_pd(a, b), then, other)
static inline __m128d sse2_pick(__m128d mask, __m128d then, __m128d other)
{
    return _mm_or_pd(_mm_and_pd(mask, then), _mm_andnot_pd(mask, other));
}
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
#define IF_NOT_BELOW(value, bar, then, other) ((value) >= (bar) ? (then) : (other))
#define IF_EQUAL(a, b, then, other) ((a) == (b) ? (then) : (other))
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
