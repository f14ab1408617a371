/* One turn of the game, on vectors: roll five dice, keep some, roll, keep some, roll, score.
 *
 * A turn's lanes never look at each other: whatever a lane stands for (a need, an upper total, a lead), every lane
 * runs the same program, so that a vector of lanes costs as much as one.
 * What the rules allow arrives as tables (yc_moves), what a score is worth as one source for each outcome.
 * Nothing here allocates or fails: the callers check, and CHECK asserts it in the debug build.
 */
#ifndef YC_TURN_H
#define YC_TURN_H

#include <stddef.h>
#include <stdint.h>

enum {
    YC_ROLLS = 252,
    YC_FIRST_ROLL = 210,
    YC_KEEPS = YC_FIRST_ROLL + YC_ROLLS,
    YC_FACES = 6,
    YC_CATEGORIES = 16,
    YC_WIDEST = 8,          /* lanes of the widest vector */
    YC_VARIANTS = 4,        /* a further Yahtzee: without or with joker, without or with extra bonus */
    YC_MAX_OUTCOMES = 1000,     /* their vectors lie within reach of 16 bits */
    YC_MOST_CRITERIA = 3        /* and a decision beside them */
};

/* The rules as tables. A row is a roll, or a further Yahtzee in one of its variants. */
typedef struct {
    int n_categories, n_outcomes;
    const int16_t *outcome_of;   /* [row][category]: which outcome scoring the row there has */
    const int16_t *zero_of;      /* [category]: the outcome of scoring zero there, or -1 */
    const uint16_t *scoring;     /* [row]: the categories in which it scores more than zero */
    const uint16_t *legal;       /* [free][face]: the categories open to five equal dice */
    const uint8_t *joker;        /* [free][face]: whether they are a joker */
    const int16_t *fives;        /* [face]: place of the roll of five equal dice */
} yc_moves;

/* What one outcome is worth by one criterion: lane i reads row[i + shift], `below` left of the row and `above` right of
 * it, and adds `add`. A criterion after the first also adds `slope` times what the criterion before it reads there. */
typedef struct {
    const double *row;
    ptrdiff_t shift, length;
    double below, above, slope, add;
} yc_source;

/* What plays are judged by: the first criterion decides, each further one among those that tie in all before it. */
typedef struct {
    int n;
    yc_source *sources[YC_MOST_CRITERIA];   /* [outcome] */
} yc_criteria;

/* What somebody takes plays for: in lane i, start + slope * i. */
typedef struct {
    const double *keep_start[2], *keep_slope[2];        /* of the first and the second keep, [keep] */
    const double *outcome_start, *outcome_slope;        /* [outcome] */
    const double *sure;     /* [outcome]: from this lane on not for sure any more what the outcome is for */
} yc_guess;

/* Which staged vectors each roll chooses from, in one state of the scorecard. */
typedef struct {
    int n_slots;                         /* outcomes in use */
    int n_zeros;                         /* the first of them score zero; their maximum is worked out once */
    uint16_t outcome[YC_MAX_OUTCOMES];   /* of a slot */
    uint16_t slot[YC_MAX_OUTCOMES];      /* of an outcome */
    uint16_t row[YC_ROLLS];              /* of a roll */
    uint16_t legal[YC_ROLLS];            /* categories open to a roll */
    /* Rolls in runs with equally many slots, first those that may also take a zero, then the others. */
    int n_runs, n_zero_runs;
    struct {
        uint16_t n_slots, n_rolls;
    } runs[2 * (YC_CATEGORIES + 1)];
    uint16_t target[YC_ROLLS];                   /* where the vector of a roll lies, in bytes */
    uint16_t slots[YC_ROLLS * YC_CATEGORIES];    /* where those it chooses from lie, in bytes */
} yc_program;

/* Work space of one thread. */
typedef struct {
    double *value[YC_MOST_CRITERIA + 1];    /* [YC_KEEPS][YC_WIDEST] */
    double *slots[YC_MOST_CRITERIA + 1];    /* [n_outcomes][YC_WIDEST] */
} yc_scratch;

typedef struct {
    const char *name;
    int width;
    int (*runs_here)(void);
    /* The value of playing best, by every criterion. */
    void (*best)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *const *out);
    /* The value of playing as somebody does who wants it low. */
    void (*worst)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *const *out);
    /* What every keep is worth to who plays best from there on, [criterion][first or second keep][keep][lane];
     * of n lanes from `first` on. */
    void (*weigh)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t first, ptrdiff_t n, double *out);
    /* What the best play decides, [stage][roll][lane]: first keep, second keep, category; in n lanes from `first` on. */
    void (*choose)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t first,
                   ptrdiff_t n, uint16_t *out);
    /* The value of playing as decided, every lane by its own decisions, or all by one lane's; by every criterion. */
    void (*follow)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t n,
                   const uint16_t *decisions, ptrdiff_t n_decided, double *const *out);
    /* Where playing as decided leads: how much of each lane's weight goes to every outcome in use, [outcome][lane]; and
     * unless `rolls` is NULL, to every roll before each decision, [stage][roll][lane]. */
    void (*spread)(const yc_program *, const yc_moves *, const double *weights, yc_scratch *, ptrdiff_t n,
                   const uint16_t *decisions, ptrdiff_t n_decided, double *out, double *rolls);
    /* The value, by the first criterion, of playing what is taken for the best; where that ties, of the best of these.
     * Unless `decided` is NULL, also what that decides, as `choose` writes it; `out` may be NULL as well. */
    void (*mistake)(const yc_program *, const yc_moves *, const yc_criteria *, const yc_guess *, yc_scratch *,
                    ptrdiff_t first, ptrdiff_t n, double *out, uint16_t *decided);
    /* The most that the luckiest roll can bring, by the first criterion. */
    void (*most)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *out);
    /* The two rerolls alone, on whatever the work space holds: the floor under every turn. */
    void (*rerolls)(yc_scratch *, int times);
} yc_isa;

/* All instruction sets compiled in, fastest first; NULL ends the list. */
extern const yc_isa *const yc_isas[];

/* Prepare a state of the scorecard. With `merge_zeros`, a roll may score zero in any free category that can score
 * zero at all: where more points are never worse this changes nothing, and it saves most of the comparisons. */
void yc_prepare(const yc_moves *, unsigned free, int chip, int merge_zeros, size_t vector, yc_program *);

#endif
