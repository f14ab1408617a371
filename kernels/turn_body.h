/* The operators of a turn for one instruction set. turn.c includes this once for each, with the vector type `vec` of
 * WIDTH lanes and its operations defined as macros; all of them are undefined again at the end.
 * All operations are IEEE arithmetic in a fixed order without fusing: all instruction sets give the same bits. */

#define LEAST SET1(-INFINITY)
/* A value ties with the best if it is not below this bound, a relative tolerance for rounding. */
#define BAR(best) SUB(best, MUL(ABS(best), SET1(1e-12)))

/* The vector at an offset in bytes. */
#define AT(vectors, distance) (*(vec *)((char *)(vectors) + (distance)))

#include "lattice.h"

/* ------------------------------------------------------------------------------------------------- staging */

/* A vector of a row from index `first` on; `below` left of the row and `above` right of it. */
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

static inline vec YC(read_source)(const yc_source *source, ptrdiff_t lane)
{
    return YC(read)(source->row, lane + source->shift, source->length, source->below, source->above);
}

/* Gather the values of all outcomes in these lanes into contiguous slots. */
static NOINLINE void YC(stage)(const yc_program *program, const yc_source *sources, ptrdiff_t lane, vec *slots)
{
    for (int slot = 0; slot < program->n_slots; slot++) {
        const yc_source *source = &sources[program->outcome[slot]];
        slots[slot] = ADD(YC(read_source)(source, lane), SET1(source->add));
    }
}

static NOINLINE void YC(stage_after)(const yc_program *program, const yc_source *sources, const yc_source *before,
                                     ptrdiff_t lane, vec *slots)
{
    for (int slot = 0; slot < program->n_slots; slot++) {
        const yc_source *source = &sources[program->outcome[slot]];
        vec sloped = MUL(SET1(source->slope), YC(read_source)(&before[program->outcome[slot]], lane));
        slots[slot] = ADD(ADD(YC(read_source)(source, lane), sloped), SET1(source->add));
    }
}

static inline void YC(stage_all)(const yc_program *program, const yc_criteria *criteria, ptrdiff_t lane,
                                 yc_scratch *scratch)
{
    YC(stage)(program, criteria->sources[0], lane, (vec *)scratch->slots[0]);
    for (int c = 1; c < criteria->n; c++)
        YC(stage_after)(program, criteria->sources[c], criteria->sources[c - 1], lane, (vec *)scratch->slots[c]);
}

/* ------------------------------------------------------------------------------------------------- scoring */

/* The best of `size` slots and a start by every criterion; candidates that do not tie count as LEAST. Inlined with
 * constant small sizes, so that the inner loops are unrolled. */
static inline ALWAYS_INLINE void YC(score_roll)(int criteria, int size, const vec *start, const uint16_t *slot,
                                                uint16_t target, double *const *slots, double *const *v)
{
    vec racing[YC_CATEGORIES + 1], best = start[0], bar;
    for (int i = 0; i < size; i++)
        best = MAX(best, AT(slots[0], slot[i]));
    AT(v[0], target) = best;
    for (int c = 1; c < criteria; c++) {
        bar = BAR(best);
        best = LEAST;
        for (int i = 0; i <= size; i++) {
            vec before = c > 1 ? racing[i] : i < size ? AT(slots[0], slot[i]) : start[0];
            vec here = i < size ? AT(slots[c], slot[i]) : start[c];
            best = MAX_WHERE(best, before, bar, here);
            if (c + 1 < criteria)
                racing[i] = MAX_WHERE(LEAST, before, bar, here);
        }
        AT(v[c], target) = best;
    }
}

static inline ALWAYS_INLINE const uint16_t *YC(score_rolls)(int criteria, int n, int size, const vec *start,
                                                            const uint16_t *slot, const uint16_t *target,
                                                            double *const *slots, double *const *v)
{
    for (int roll = 0; roll < n; roll++, slot += size)
        YC(score_roll)(criteria, size, start, slot, target[roll], slots, v);
    return slot;
}

/* The value of every roll is the best of its slots; for rolls that may take a merged zero, also of the best zero. */
static inline ALWAYS_INLINE void YC(score_by)(int criteria, const yc_program *program, double *const *slots,
                                              double *const *v)
{
    const uint16_t *slot = program->slots, *target = program->target;
    uint16_t zeros[YC_CATEGORIES];
    vec start[YC_MOST_CRITERIA + 1], least[YC_MOST_CRITERIA + 1];
    double *starts[YC_MOST_CRITERIA + 1];
    for (int c = 0; c < criteria; c++) {
        start[c] = least[c] = LEAST;
        starts[c] = (double *)&start[c];
    }
    for (int i = 0; i < program->n_zeros; i++)
        zeros[i] = (uint16_t)((size_t)i * sizeof(vec));
    if (program->n_zeros)
        YC(score_roll)(criteria, program->n_zeros, least, zeros, 0, slots, starts);
    for (int run = 0; run < program->n_runs; run++) {
        int n = program->runs[run].n_rolls, size = program->runs[run].n_slots;
        const vec *from = run < program->n_zero_runs ? start : least;
        switch (size) {
#define SCORE(size) slot = YC(score_rolls)(criteria, n, size, from, slot, target, slots, v)
        case 0: SCORE(0); break;
        case 1: SCORE(1); break;
        case 2: SCORE(2); break;
        case 3: SCORE(3); break;
        case 4: SCORE(4); break;
        case 5: SCORE(5); break;
        case 6: SCORE(6); break;
        case 7: SCORE(7); break;
        default: SCORE(size);
#undef SCORE
        }
        target += n;
    }
}

static NOINLINE void YC(score)(int criteria, const yc_program *program, const yc_scratch *scratch)
{
    switch (criteria) {
    case 1: YC(score_by)(1, program, scratch->slots, scratch->value); break;
    case 2: YC(score_by)(2, program, scratch->slots, scratch->value); break;
    case 3: YC(score_by)(3, program, scratch->slots, scratch->value); break;
    default: YC(score_by)(4, program, scratch->slots, scratch->value);
    }
}

/* The value of the best keep of every roll, by every criterion. */
static void YC(reroll)(int criteria, const yc_scratch *scratch)
{
    vec *v[YC_MOST_CRITERIA + 1];
    for (int c = 0; c < criteria; c++)
        v[c] = (vec *)scratch->value[c];
    switch (criteria) {
    case 1: YC(maxima1)(v[0]); break;
    case 2: YC(maxima2)(v[0], v[1]); break;
    case 3: YC(maxima3)(v[0], v[1], v[2]); break;
    default: YC(maxima4)(v[0], v[1], v[2], v[3]);
    }
}

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

static inline ALWAYS_INLINE void YC(play)(int adverse, const yc_program *program, const yc_criteria *criteria,
                                          yc_scratch *scratch, ptrdiff_t n, double *const *out)
{
    vec zero = SET1(0.0);
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(stage_all)(program, criteria, lane, scratch);
        if (adverse)
            for (int c = 0; c < criteria->n; c++)
                for (int slot = 0; slot < program->n_slots; slot++) {
                    vec *value = (vec *)scratch->slots[c] + slot;
                    *value = SUB(zero, *value);
                }
        YC(score)(criteria->n, program, scratch);
        for (int reroll = 0; reroll < 2; reroll++) {
            for (int c = 0; c < criteria->n; c++)
                YC(means)((vec *)scratch->value[c]);
            YC(reroll)(criteria->n, scratch);
        }
        for (int c = 0; c < criteria->n; c++) {
            vec value = YC(expectation)((const vec *)scratch->value[c]);
            YC(put)(out[c] + lane, adverse ? SUB(zero, value) : value, n - lane);
        }
    }
}

static void YC(best)(const yc_program *program, const yc_criteria *criteria, yc_scratch *scratch, ptrdiff_t n,
                     double *const *out)
{
    YC(play)(0, program, criteria, scratch, n, out);
}

static void YC(worst)(const yc_program *program, const yc_criteria *criteria, yc_scratch *scratch, ptrdiff_t n,
                      double *const *out)
{
    YC(play)(1, program, criteria, scratch, n, out);
}

static void YC(keep_values)(const yc_program *program, const yc_criteria *criteria, yc_scratch *scratch,
                            ptrdiff_t first, ptrdiff_t n, double *out)
{
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(stage_all)(program, criteria, first + lane, scratch);
        YC(score)(criteria->n, program, scratch);
        for (int stage = 1; stage >= 0; stage--) {
            for (int c = 0; c < criteria->n; c++) {
                vec *v = (vec *)scratch->value[c];
                YC(means)(v);
                for (int keep = 0; keep < YC_KEEPS; keep++)
                    YC(put)(out + ((2 * c + stage) * YC_KEEPS + keep) * n + lane, v[place_of[keep]], n - lane);
            }
            YC(reroll)(criteria->n, scratch);
        }
    }
}

/* `choose` is `best` with an additional last criterion, the number of the keep or category: ties go to the greatest. */
static void YC(write_decisions)(const vec *names, uint16_t *out, ptrdiff_t n_lanes, ptrdiff_t lanes, double sign)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        double decided[WIDTH];
        STORE(decided, names[place_of[YC_FIRST_ROLL + roll]]);
        for (ptrdiff_t i = 0; i < lanes; i++)
            out[roll * n_lanes + i] = (uint16_t)(sign * decided[i]);
    }
}

static void YC(name_slots)(const yc_program *program, const yc_moves *moves, vec *names)
{
    CHECK(program->n_zeros == 0);
    for (int row = 0; row < YC_ROLLS; row++)
        for (unsigned left = program->legal[row]; left; left &= left - 1) {
            int category = lowest_bit(left);
            int outcome = moves->outcome_of[program->row[row] * YC_CATEGORIES + category];
            names[program->slot[outcome]] = SET1(-(double)category);
        }
}

static inline void YC(name_keeps)(vec *names)
{
    for (int keep = 0; keep < YC_KEEPS; keep++)
        names[place_of[keep]] = SET1((double)keep);
}

static void YC(choose)(const yc_program *program, const yc_moves *moves, const yc_criteria *criteria,
                       yc_scratch *scratch, ptrdiff_t first, ptrdiff_t n, uint16_t *out)
{
    vec *names = (vec *)scratch->value[criteria->n];
    YC(name_slots)(program, moves, (vec *)scratch->slots[criteria->n]);
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        ptrdiff_t lanes = n - lane < WIDTH ? n - lane : WIDTH;
        YC(stage_all)(program, criteria, first + lane, scratch);
        YC(score)(criteria->n + 1, program, scratch);
        YC(write_decisions)(names, out + 2 * YC_ROLLS * n + lane, n, lanes, -1.0);
        for (int stage = 1; stage >= 0; stage--) {
            YC(name_keeps)(names);
            for (int c = 0; c < criteria->n; c++)
                YC(means)((vec *)scratch->value[c]);
            YC(reroll)(criteria->n + 1, scratch);
            YC(write_decisions)(names, out + stage * YC_ROLLS * n + lane, n, lanes, 1.0);
        }
    }
}

/* The best worth of the slots of a roll, and the value of the first slot that ties for it. */
static inline ALWAYS_INLINE const uint16_t *YC(carry_rolls)(int n, int size, const uint16_t *slot,
                                                            const uint16_t *target, double *const *slots,
                                                            double *const *v)
{
    for (int roll = 0; roll < n; roll++, slot += size) {
        vec best = AT(slots[0], slot[0]), value = AT(slots[1], slot[size - 1]), bar;
        for (int i = 1; i < size; i++)
            best = MAX(best, AT(slots[0], slot[i]));
        bar = BAR(best);
        for (int i = size - 2; i >= 0; i--)
            value = IF_NOT_BELOW(AT(slots[0], slot[i]), bar, AT(slots[1], slot[i]), value);
        AT(v[0], target[roll]) = best;
        AT(v[2], target[roll]) = value;
    }
    return slot;
}

static NOINLINE void YC(carry_score)(const yc_program *program, double *const *slots, double *const *v)
{
    const uint16_t *slot = program->slots, *target = program->target;
    CHECK(program->n_zeros == 0);
    for (int run = 0; run < program->n_runs; run++) {
        int n = program->runs[run].n_rolls, size = program->runs[run].n_slots;
        switch (size) {
#define CARRY(size) slot = YC(carry_rolls)(n, size, slot, target, slots, v)
        case 1: CARRY(1); break;
        case 2: CARRY(2); break;
        case 3: CARRY(3); break;
        case 4: CARRY(4); break;
        case 5: CARRY(5); break;
        case 6: CARRY(6); break;
        case 7: CARRY(7); break;
        case 8: CARRY(8); break;
        case 9: CARRY(9); break;
        case 10: CARRY(10); break;
        default: CARRY(size);
#undef CARRY
        }
        target += n;
    }
}

/* Decides as `choose` by the first criterion, and carries along what this brings by the second. */
static void YC(carry)(const yc_program *program, const yc_criteria *criteria, yc_scratch *scratch, ptrdiff_t first,
                      ptrdiff_t n, double *out)
{
    vec *worths = (vec *)scratch->value[0], *names = (vec *)scratch->value[1], *values = (vec *)scratch->value[2];
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        for (int c = 0; c < 2; c++)
            YC(stage)(program, criteria->sources[c], first + lane, (vec *)scratch->slots[c]);
        YC(carry_score)(program, scratch->slots, scratch->value);
        for (int reroll = 0; reroll < 2; reroll++) {
            YC(means)(worths);
            YC(means)(values);
            YC(carried)(worths, names, values);
        }
        YC(put)(out + lane, YC(expectation)(values), n - lane);
    }
}

/* Decisions for lanes from `lane` on. Lanes beyond the last one copy it, so that every lane has a legal decision. */
typedef struct {
    const uint16_t *all;
    ptrdiff_t n_decided, lane, lanes;
} YC(decisions);

static inline int YC(decided)(const YC(decisions) *decisions, int stage, int roll, ptrdiff_t i)
{
    const uint16_t *row = decisions->all + (stage * YC_ROLLS + roll) * decisions->n_decided;
    return row[decisions->n_decided == 1 ? 0 : decisions->lane + (i < decisions->lanes ? i : decisions->lanes - 1)];
}

static inline int YC(slot_decided)(const yc_program *program, const yc_moves *moves, const YC(decisions) *decisions,
                                   int roll, ptrdiff_t i)
{
    int category = YC(decided)(decisions, 2, roll, i);
    return program->slot[moves->outcome_of[program->row[roll] * YC_CATEGORIES + category]];
}

/* Set the value of every roll to that of the keep decided in each lane. */
static void YC(obey)(const YC(decisions) *decisions, int stage, vec *v)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        vec *target = v + place_of[YC_FIRST_ROLL + roll];
        if (decisions->n_decided == 1)
            *target = v[place_of[YC(decided)(decisions, stage, roll, 0)]];
        else
            for (ptrdiff_t i = 0; i < WIDTH; i++)
                ((double *)target)[i] = ((double *)&v[place_of[YC(decided)(decisions, stage, roll, i)]])[i];
    }
}

static void YC(score_as)(const yc_program *program, const yc_moves *moves, const YC(decisions) *decisions,
                         const vec *slots, vec *v)
{
    for (int roll = 0; roll < YC_ROLLS; roll++) {
        vec *target = v + place_of[YC_FIRST_ROLL + roll];
        if (decisions->n_decided == 1)
            *target = slots[YC(slot_decided)(program, moves, decisions, roll, 0)];
        else
            for (ptrdiff_t i = 0; i < WIDTH; i++)
                ((double *)target)[i] =
                    ((const double *)&slots[YC(slot_decided)(program, moves, decisions, roll, i)])[i];
    }
}

static void YC(follow)(const yc_program *program, const yc_moves *moves, const yc_criteria *criteria,
                       yc_scratch *scratch, ptrdiff_t n, const uint16_t *decided, ptrdiff_t n_decided,
                       double *const *out)
{
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(decisions) decisions = {decided, n_decided, lane, n - lane < WIDTH ? n - lane : WIDTH};
        YC(stage_all)(program, criteria, lane, scratch);
        for (int c = 0; c < criteria->n; c++) {
            vec *v = (vec *)scratch->value[c];
            YC(score_as)(program, moves, &decisions, (const vec *)scratch->slots[c], v);
            for (int stage = 1; stage >= 0; stage--) {
                YC(means)(v);
                YC(obey)(&decisions, stage, v);
            }
            YC(put)(out[c] + lane, YC(expectation)(v), decisions.lanes);
        }
    }
}

static void YC(keep_for)(const yc_program *program, const yc_moves *moves, const yc_criteria *criteria,
                         yc_scratch *scratch, ptrdiff_t n, uint16_t *decided, double *out)
{
    vec *v = (vec *)scratch->value[0], *names = (vec *)scratch->value[1];
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(decisions) decisions = {decided, n, lane, n - lane < WIDTH ? n - lane : WIDTH};
        YC(stage)(program, criteria->sources[0], lane, (vec *)scratch->slots[0]);
        YC(score_as)(program, moves, &decisions, (const vec *)scratch->slots[0], v);
        for (int stage = 1; stage >= 0; stage--) {
            YC(means)(v);
            if (!out)
                YC(name_keeps)(names);
            YC(reroll)(out ? 1 : 2, scratch);
            if (!out)
                YC(write_decisions)(names, decided + stage * YC_ROLLS * n + lane, n, decisions.lanes, 1.0);
        }
        if (out)
            YC(put)(out + lane, YC(expectation)(v), decisions.lanes);
    }
}

static void YC(heuristic)(const yc_program *program, const yc_moves *moves, const yc_criteria *criteria,
                          const yc_heuristic *heuristic, yc_scratch *scratch, ptrdiff_t first, ptrdiff_t n,
                          double *out, uint16_t *decided)
{
    vec *estimates = (vec *)scratch->value[0], *values = (vec *)scratch->value[1], *names = (vec *)scratch->value[2];
    vec *slots = (vec *)scratch->slots[0];
    double numbers[WIDTH];
    int n_criteria = decided ? 3 : 2;
    if (decided)
        YC(name_slots)(program, moves, (vec *)scratch->slots[2]);
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        ptrdiff_t lanes = n - lane < WIDTH ? n - lane : WIDTH;
        for (int i = 0; i < WIDTH; i++)
            numbers[i] = (double)(first + lane + i);
        vec at = LOAD(numbers);
        YC(stage)(program, criteria->sources[0], first + lane, (vec *)scratch->slots[1]);
        for (int slot = 0; slot < program->n_slots; slot++) {
            int o = program->outcome[slot];
            vec worth = ADD(SET1(heuristic->outcome_start[o]), MUL(SET1(heuristic->outcome_slope[o]), at));
            vec sure = MAX_WHERE(LEAST, SET1(heuristic->sure[o]), at, SET1(1e300));
            slots[slot] = MAX(worth, sure);
        }
        YC(score)(n_criteria, program, scratch);
        if (decided)
            YC(write_decisions)(names, decided + 2 * YC_ROLLS * n + lane, n, lanes, -1.0);
        for (int stage = 1; stage >= 0; stage--) {
            YC(means)(values);
            if (decided)
                YC(name_keeps)(names);
            for (int keep = 0; keep < YC_KEEPS; keep++)
                estimates[place_of[keep]] =
                    ADD(SET1(heuristic->keep_start[stage][keep]), MUL(SET1(heuristic->keep_slope[stage][keep]), at));
            YC(reroll)(n_criteria, scratch);
            if (decided)
                YC(write_decisions)(names, decided + stage * YC_ROLLS * n + lane, n, lanes, 1.0);
        }
        if (out)
            YC(put)(out + lane, YC(expectation)(values), lanes);
    }
}

/* Add `from` to `to`, an expression that may depend on the lane i. */
#define GIVE(from, to) \
    do { \
        ptrdiff_t i = 0; \
        if (n_decided == 1) \
            to = ADD(to, from); \
        else \
            for (; i < WIDTH; i++) \
                ((double *)&to)[i] += ((const double *)&from)[i]; \
    } while (0)

/* The adjoint of `follow`: the weight of a lane is distributed over rolls, from these over keeps, and so on. */
static void YC(spread)(const yc_program *program, const yc_moves *moves, const double *weights, yc_scratch *scratch,
                       ptrdiff_t n, const uint16_t *decided, ptrdiff_t n_decided, double *out, double *rolls_out)
{
    vec *rolls = (vec *)scratch->value[0], *keeps = (vec *)scratch->value[1], *slots = (vec *)scratch->slots[0];
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(decisions) decisions = {decided, n_decided, lane, n - lane < WIDTH ? n - lane : WIDTH};
        vec weight = YC(read)(weights, lane, n, 0.0, 0.0);
        for (int roll = 0; roll < YC_ROLLS; roll++)
            rolls[place_of[YC_FIRST_ROLL + roll]] = MUL(weight, SET1(chance_of[roll]));
        for (int stage = 0; stage <= 2; stage++) {
            if (rolls_out)
                for (int roll = 0; roll < YC_ROLLS; roll++)
                    YC(put)(rolls_out + (stage * YC_ROLLS + roll) * n + lane, rolls[place_of[YC_FIRST_ROLL + roll]],
                            decisions.lanes);
            if (stage == 2)
                break;
            for (int keep = 0; keep < YC_KEEPS; keep++)
                keeps[keep] = SET1(0.0);
            for (int roll = 0; roll < YC_ROLLS; roll++)
                GIVE(rolls[place_of[YC_FIRST_ROLL + roll]],
                     keeps[place_of[YC(decided)(&decisions, stage, roll, i)]]);
            YC(shares)(keeps);
            vec *swapped = rolls;
            rolls = keeps;
            keeps = swapped;
        }
        for (int slot = 0; slot < program->n_slots; slot++)
            slots[slot] = SET1(0.0);
        for (int roll = 0; roll < YC_ROLLS; roll++)
            GIVE(rolls[place_of[YC_FIRST_ROLL + roll]],
                 slots[YC(slot_decided)(program, moves, &decisions, roll, i)]);
        for (int slot = 0; slot < program->n_slots; slot++)
            YC(put)(out + program->outcome[slot] * n + lane, slots[slot], decisions.lanes);
    }
}

#undef GIVE

static void YC(pour)(const double *row, double share, ptrdiff_t n, double *out)
{
    ptrdiff_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        STORE(out + i, ADD(LOAD(out + i), MUL(SET1(share), LOAD(row + i))));
    for (; i < n; i++)
        out[i] += share * row[i];
}

static void YC(most)(const yc_program *program, const yc_criteria *criteria, yc_scratch *scratch, ptrdiff_t n,
                     double *out)
{
    vec *slots = (vec *)scratch->slots[0];
    for (ptrdiff_t lane = 0; lane < n; lane += WIDTH) {
        YC(stage)(program, criteria->sources[0], lane, slots);
        vec best = LEAST;
        for (int slot = 0; slot < program->n_slots; slot++)
            best = MAX(best, slots[slot]);
        YC(put)(out + lane, best, n - lane);
    }
}

static void YC(rerolls)(yc_scratch *scratch, int times)
{
    for (int i = 0; i < 2 * times; i++) {
        YC(means)((vec *)scratch->value[0]);
        YC(reroll)(1, scratch);
    }
}

static int YC(runs_here)(void)
{
    return RUNS_HERE;
}

#define TEXT(name) #name
#define NAME_OF(isa) TEXT(isa)
static const yc_isa YC(isa) = {
    NAME_OF(ISA), WIDTH, YC(runs_here), YC(best), YC(worst), YC(keep_values), YC(choose), YC(follow), YC(keep_for),
    YC(spread), YC(heuristic), YC(pour), YC(carry), YC(most), YC(rerolls),
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
#undef IF_NOT_BELOW
#undef IF_EQUAL
