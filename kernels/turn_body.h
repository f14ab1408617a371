/* The turn's operators for one instruction set. turn.c includes this once for each, with the vector type `vec` of
 * WIDTH lanes and its operations defined as macros; all of them are undefined again at the end.
 * Every operation is exact IEEE arithmetic in one order, and none is fused: all instruction sets agree to the bit. */

#define LEAST SET1(-INFINITY)
/* A candidate ties with the best when it reaches this: equal but for rounding. */
#define BAR(best) SUB(best, MUL(ABS(best), SET1(1e-12)))

/* A vector by its distance in bytes. */
#define AT(vectors, distance) (*(vec *)((char *)(vectors) + (distance)))

#include "lattice.h"

/* ------------------------------------------------------------------------------------------------- staging */

/* The lanes from `lane` on of a row that goes on as `below` to the left and as `above` to the right. */
static inline vec YC(read)(const double *row, ptrdiff_t first, ptrdiff_t length, double below, double above)
{
    if (first >= 0 && first + WIDTH <= length)
        return LOAD(row + first);
    if (first + WIDTH <= 0)
        return SET1(below);
    if (first >= length)
        return SET1(above);
    double mixed[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        mixed[i] = first + i < 0 ? below : first + i < length ? row[first + i] : above;
    return LOAD(mixed);
}

/* Bring what every outcome is worth in these lanes close together, shifted into place. */
static NOINLINE void YC(stage)(const yc_program *program, const yc_source *sources, ptrdiff_t lane, vec *slots)
{
    for (int slot = 0; slot < program->n_slots; slot++) {
        const yc_source *source = &sources[program->outcome[slot]];
        vec value = YC(read)(source->row, lane + source->shift, source->length, source->below, source->above);
        slots[slot] = ADD(value, SET1(source->add));
    }
}

static NOINLINE void YC(stage_second)(const yc_program *program, const yc_source *sources, ptrdiff_t lane, vec *slots)
{
    for (int slot = 0; slot < program->n_slots; slot++) {
        const yc_source *source = &sources[program->outcome[slot]];
        ptrdiff_t first = lane + source->shift;
        vec value = YC(read)(source->row, first, source->length, source->below, source->above);
        vec second = YC(read)(source->second, first, source->length, source->second_below, source->second_above);
        slots[slot] = ADD(ADD(second, MUL(SET1(source->slope), value)), SET1(source->second_add));
    }
}

/* ------------------------------------------------------------------------------------------------- scoring */

/* Rolls of one size: each takes the best of `size` slots and a start. Inlined for every small size, so that no inner
 * loop is left; returns where the next size's slots begin. */
static inline ALWAYS_INLINE const uint16_t *YC(score_rolls)(int n, int size, vec start, const uint16_t *slot,
                                                            const uint16_t *target, const vec *slots, vec *v)
{
    for (int roll = 0; roll < n; roll++, slot += size) {
        vec best = start;
        for (int i = 0; i < size; i++)
            best = MAX(best, AT(slots, slot[i]));
        AT(v, target[roll]) = best;
    }
    return slot;
}

static inline ALWAYS_INLINE const uint16_t *YC(score_rolls_second)(int n, int size, vec start, vec second_start,
                                                                   const uint16_t *slot, const uint16_t *target,
                                                                   const vec *slots, const vec *second_slots, vec *v,
                                                                   vec *w)
{
    for (int roll = 0; roll < n; roll++, slot += size) {
        vec best = start;
        for (int i = 0; i < size; i++)
            best = MAX(best, AT(slots, slot[i]));
        vec bar = BAR(best);
        vec second = MAX_WHERE(LEAST, start, bar, second_start);
        for (int i = 0; i < size; i++)
            second = MAX_WHERE(second, AT(slots, slot[i]), bar, AT(second_slots, slot[i]));
        AT(v, target[roll]) = best;
        AT(w, target[roll]) = second;
    }
    return slot;
}

/* clang-format off */
#define FOR_EACH_RUN(SCORE) \
    for (int run = 0; run < program->n_runs; run++) { \
        int n = program->runs[run].n_rolls, size = program->runs[run].n_slots; \
        if (run == program->n_zero_runs) \
            start = second_start = LEAST; \
        switch (size) { \
        case 0: SCORE(0); break; \
        case 1: SCORE(1); break; \
        case 2: SCORE(2); break; \
        case 3: SCORE(3); break; \
        case 4: SCORE(4); break; \
        case 5: SCORE(5); break; \
        case 6: SCORE(6); break; \
        case 7: SCORE(7); break; \
        default: SCORE(size); \
        } \
        target += n; \
    }
/* clang-format on */

/* Every roll takes the best of its slots; those that may score zero start from the best zero. */
static NOINLINE void YC(score)(const yc_program *program, const vec *slots, vec *v)
{
    const uint16_t *slot = program->slots, *target = program->target;
    vec start = LEAST, second_start;
    for (int i = 0; i < program->n_zeros; i++)
        start = MAX(start, slots[i]);
#define SCORE(size) slot = YC(score_rolls)(n, size, start, slot, target, slots, v)
    FOR_EACH_RUN(SCORE)
#undef SCORE
    (void)second_start;
}

static NOINLINE void YC(score_second)(const yc_program *program, const vec *slots, const vec *second_slots, vec *v,
                                      vec *w)
{
    const uint16_t *slot = program->slots, *target = program->target;
    vec start = LEAST, second_start = LEAST;
    for (int i = 0; i < program->n_zeros; i++)
        start = MAX(start, slots[i]);
    vec bar = BAR(start);
    for (int i = 0; i < program->n_zeros; i++)
        second_start = MAX_WHERE(second_start, slots[i], bar, second_slots[i]);
#define SCORE(size) \
    slot = YC(score_rolls_second)(n, size, start, second_start, slot, target, slots, second_slots, v, w)
    FOR_EACH_RUN(SCORE)
#undef SCORE
}
#undef FOR_EACH_RUN

/* -------------------------------------------------------------------------------------------------- output */

static inline void YC(put)(double *out, vec value, ptrdiff_t n)
{
    double lanes[WIDTH];
    if (n >= WIDTH) {
        STORE(out, value);
        return;
    }
    STORE(lanes, value);
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = lanes[i];
}

/* ----------------------------------------------------------------------------------------------- operators */

static void YC(best)(const yc_program *program, const yc_source *sources, yc_scratch *scratch, ptrdiff_t n, double *out,
                     double *second_out)
{
    vec *v = (vec *)scratch->value, *w = (vec *)scratch->second;
    vec *slots = (vec *)scratch->slots, *second_slots = (vec *)scratch->second_slots;
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(stage)(program, sources, lane, slots);
        if (second_out) {
            YC(stage_second)(program, sources, lane, second_slots);
            YC(score_second)(program, slots, second_slots, v, w);
        } else
            YC(score)(program, slots, v);
        for (int reroll = 0; reroll < 2; reroll++) {
            YC(means)(v);
            if (second_out) {
                YC(means)(w);
                YC(choices)(v, w);
            } else
                YC(maxima)(v);
        }
        YC(put)(out + lane, YC(expectation)(v), n - lane);
        if (second_out)
            YC(put)(second_out + lane, YC(expectation)(w), n - lane);
    }
}

/* Second values that name what they stand beside turn `best` into `choose`: ties go to the greatest name. */
static void YC(write_decisions)(const vec *w, uint16_t *out, ptrdiff_t n_lanes, ptrdiff_t lanes, double sign)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        double names[WIDTH];
        STORE(names, w[place_of[YC_FIRST_ROLL + roll]]);
        for (ptrdiff_t i = 0; i < lanes; i++)
            out[roll * n_lanes + i] = (uint16_t)(sign * names[i]);
    }
}

static void YC(choose)(const yc_program *program, const yc_moves *moves, const yc_source *sources, yc_scratch *scratch,
                       ptrdiff_t n, uint16_t *out)
{
    vec *v = (vec *)scratch->value, *w = (vec *)scratch->second;
    vec *slots = (vec *)scratch->slots, *second_slots = (vec *)scratch->second_slots;
    CHECK(program->n_zeros == 0);
    for (int row = 0; row < YC_ROLLS; row++)
        for (unsigned left = program->legal[row]; left; left &= left - 1) {
            int category = lowest_bit(left);
            int outcome = moves->outcome_of[program->row[row] * YC_CATEGORIES + category];
            second_slots[program->slot[outcome]] = SET1(-(double)category);
        }
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        ptrdiff_t lanes = n - lane < WIDTH ? n - lane : WIDTH;
        YC(stage)(program, sources, lane, slots);
        YC(score_second)(program, slots, second_slots, v, w);
        YC(write_decisions)(w, out + 2 * YC_ROLLS * n + lane, n, lanes, -1.0);
        for (int stage = 1; stage >= 0; stage--) {
            for (int keep = 0; keep < YC_KEEPS; keep++)
                w[place_of[keep]] = SET1((double)keep);
            YC(means)(v);
            YC(choices)(v, w);
            YC(write_decisions)(w, out + stage * YC_ROLLS * n + lane, n, lanes, 1.0);
        }
    }
}

/* Replace the value of every roll by that of what its lanes decided to make of it. */
static void YC(obey)(const uint16_t *decisions, ptrdiff_t n_decided, ptrdiff_t lane, ptrdiff_t lanes, vec *v)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        const uint16_t *keep = decisions + roll * n_decided;
        vec *target = v + place_of[YC_FIRST_ROLL + roll];
        if (n_decided == 1)
            *target = v[place_of[keep[0]]];
        else
            for (ptrdiff_t i = 0; i < lanes; i++)
                ((double *)target)[i] = ((double *)&v[place_of[keep[lane + i]]])[i];
    }
}

static void YC(score_as)(const yc_program *program, const yc_moves *moves, const uint16_t *decisions,
                         ptrdiff_t n_decided, ptrdiff_t lane, ptrdiff_t lanes, const vec *slots, vec *v)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        const uint16_t *category = decisions + roll * n_decided;
        const int16_t *outcome_of = moves->outcome_of + program->row[roll] * YC_CATEGORIES;
        vec *target = v + place_of[YC_FIRST_ROLL + roll];
        if (n_decided == 1)
            *target = slots[program->slot[outcome_of[category[0]]]];
        else
            for (ptrdiff_t i = 0; i < WIDTH; i++) {
                /* Lanes beyond the last copy it, so that no lane holds garbage. */
                ptrdiff_t decided = i < lanes ? lane + i : lane + lanes - 1;
                int slot = program->slot[outcome_of[category[decided]]];
                ((double *)target)[i] = ((const double *)&slots[slot])[i];
            }
    }
}

static void YC(follow)(const yc_program *program, const yc_moves *moves, const yc_source *sources, yc_scratch *scratch,
                       ptrdiff_t n, const uint16_t *decisions, ptrdiff_t n_decided, double *out, double *second_out)
{
    vec *v = (vec *)scratch->value, *slots = (vec *)scratch->slots;
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        ptrdiff_t lanes = n - lane < WIDTH ? n - lane : WIDTH;
        for (int pass = 0; pass < 1 + (second_out != NULL); pass++) {
            if (pass == 0)
                YC(stage)(program, sources, lane, slots);
            else
                YC(stage_second)(program, sources, lane, slots);
            YC(score_as)(program, moves, decisions + 2 * YC_ROLLS * n_decided, n_decided, lane, lanes, slots, v);
            for (int stage = 1; stage >= 0; stage--) {
                YC(means)(v);
                YC(obey)(decisions + stage * YC_ROLLS * n_decided, n_decided, lane, lanes, v);
            }
            YC(put)((pass ? second_out : out) + lane, YC(expectation)(v), lanes);
        }
    }
}

static void YC(most)(const yc_program *program, const yc_source *sources, yc_scratch *scratch, ptrdiff_t n, double *out)
{
    vec *slots = (vec *)scratch->slots;
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(stage)(program, sources, lane, slots);
        vec best = LEAST;
        for (int slot = 0; slot < program->n_slots; slot++)
            best = MAX(best, slots[slot]);
        YC(put)(out + lane, best, n - lane);
    }
}

static void YC(rerolls)(yc_scratch *scratch, int times)
{
    vec *v = (vec *)scratch->value;
    for (int i = 0; i < 2 * times; i++) {
        YC(means)(v);
        YC(maxima)(v);
    }
}

static int YC(runs_here)(void)
{
    return RUNS_HERE;
}

#define TEXT(name) #name
#define NAME_OF(isa) TEXT(isa)
static const yc_isa YC(isa) = {
    NAME_OF(ISA), WIDTH, YC(runs_here), YC(best), YC(choose), YC(follow), YC(most), YC(rerolls),
};

#undef TEXT
#undef NAME_OF
#undef LEAST
#undef BAR
#undef AT
#undef ISA
#undef WIDTH
#undef RUNS_HERE
#undef vec
#undef LOAD
#undef STORE
#undef SET1
#undef ADD
#undef SUB
#undef MUL
#undef MAX
#undef ABS
#undef MAX_WHERE
