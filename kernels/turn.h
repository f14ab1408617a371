/* One turn of the game, on vectors: roll five dice, keep some, roll, keep some, roll, score.
 *
 * Lanes are independent: whatever a lane stands for (a need, an upper total, a lead), every lane runs the same program,
 * so that a vector of lanes costs as much as a single one.
 * The rules are given as tables (yc_moves), and the values of scoring as one source for each outcome.
 * Nothing here allocates memory or fails: arguments are checked by the callers, and by CHECK in the debug build.
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
    YC_MAX_OUTCOMES = 1000,     /* so that byte offsets of their vectors fit in 16 bits */
    YC_MOST_CRITERIA = 3        /* one more is used internally for decisions */
};

/* The rules as tables. A row is a roll, or a further Yahtzee in one of its variants. */
typedef struct {
    int n_categories, n_outcomes;
    const int16_t *outcome_of;   /* [row][category]: the outcome of scoring the row there */
    const int16_t *zero_of;      /* [category]: the outcome of scoring zero there, or -1 */
    const uint16_t *scoring;     /* [row]: the categories in which it scores more than zero */
    const uint16_t *legal;       /* [free][face]: the categories open to five of a kind */
    const uint8_t *joker;        /* [free][face]: whether five of a kind is a joker */
    const int16_t *fives;        /* [face]: index of the roll of five of a kind */
} yc_moves;

/* The value of one outcome by one criterion: lane i reads row[i + shift], or `below` left of the row and `above` right
 * of it, and adds `add`. A criterion after the first also adds `slope` times what the criterion before it reads. */
typedef struct {
    const double *row;
    ptrdiff_t shift, length;
    double below, above, slope, add;
} yc_source;

/* The values to be maximised: the first criterion decides, each further one breaks ties in all before it. */
typedef struct {
    int n;
    yc_source *sources[YC_MOST_CRITERIA];   /* [outcome] */
} yc_criteria;

/* The heuristic values of the normal approximation: in lane i, start + slope * i. */
typedef struct {
    const double *keep_start[2], *keep_slope[2];        /* of the first and the second keep, [keep] */
    const double *outcome_start, *outcome_slope;        /* [outcome] */
    const double *sure;     /* [outcome]: the last lane whose need the outcome is certain to reach */
} yc_heuristic;

/* The slots that each roll chooses from, in one state of the scorecard; a slot is the vector of an outcome in use. */
typedef struct {
    int n_slots;
    int n_zeros;                         /* the first slots score zero; their maximum is computed once */
    uint16_t outcome[YC_MAX_OUTCOMES];   /* of a slot */
    uint16_t slot[YC_MAX_OUTCOMES];      /* of an outcome */
    uint16_t row[YC_ROLLS];              /* of a roll */
    uint16_t legal[YC_ROLLS];            /* categories open to a roll */
    /* Rolls in runs with equally many slots; runs of rolls that may also take a merged zero come first. */
    int n_runs, n_zero_runs;
    struct {
        uint16_t n_slots, n_rolls;
    } runs[2 * (YC_CATEGORIES + 1)];
    uint16_t target[YC_ROLLS];                   /* byte offset of the vector of a roll */
    uint16_t slots[YC_ROLLS * YC_CATEGORIES];    /* byte offsets of the slots that it chooses from */
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
    /* The value of the optimal policy, by every criterion. */
    void (*best)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *const *out);
    /* The same for a player who minimises. */
    void (*worst)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *const *out);
    /* The value of every keep under the optimal policy, [criterion][first or second keep][keep][lane]; n lanes from
     * `first` on. */
    void (*keep_values)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t first, ptrdiff_t n,
                        double *out);
    /* Decisions of the optimal policy, [stage][roll][lane]: first keep, second keep, category; n lanes from `first` on.
     */
    void (*choose)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t first,
                   ptrdiff_t n, uint16_t *out);
    /* The value of given decisions, of each lane or of one lane for all; by every criterion. */
    void (*follow)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t n,
                   const uint16_t *decisions, ptrdiff_t n_decided, double *const *out);
    /* The value, by the first criterion, of the best keeps where the categories are given, as in `follow`; unless `out`
     * is NULL. Otherwise the keeps are added to the decisions, ties going to the greatest. */
    void (*keep_for)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t n,
                     uint16_t *decisions, double *out);
    /* The distribution over outcomes under given decisions, times the weight of each lane, [outcome][lane]; unless
     * `rolls` is NULL, also the distribution over rolls before each decision, [stage][roll][lane]. */
    void (*spread)(const yc_program *, const yc_moves *, const double *weights, yc_scratch *, ptrdiff_t n,
                   const uint16_t *decisions, ptrdiff_t n_decided, double *out, double *rolls);
    /* The value, by the first criterion, of the policy that maximises the heuristic values; ties go to the highest
     * value. Unless `decided` is NULL, also its decisions, as `choose` writes them; `out` may be NULL as well. */
    void (*heuristic)(const yc_program *, const yc_moves *, const yc_criteria *, const yc_heuristic *, yc_scratch *,
                      ptrdiff_t first, ptrdiff_t n, double *out, uint16_t *decided);
    /* Add a share of a row to another row of the same length. */
    void (*pour)(const double *row, double share, ptrdiff_t n, double *out);
    /* The value, by the second criterion, of the decisions that `choose` makes by the first alone; n lanes from `first`
     * on. */
    void (*carry)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t first, ptrdiff_t n, double *out);
    /* The value of the best outcome of any roll, by the first criterion. */
    void (*most)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t n, double *out);
    /* Only the two rerolls, on whatever the work space holds: a lower bound for benchmarks. */
    void (*rerolls)(yc_scratch *, int times);
} yc_isa;

/* All instruction sets compiled in, fastest first; NULL ends the list. */
extern const yc_isa *const yc_isas[];

/* Prepare a state of the scorecard. With `merge_zeros`, every roll may score zero in any free category in which some
 * roll does. Where more points are never worse, this does not change the values and saves most comparisons. */
void yc_prepare(const yc_moves *, unsigned free, int chip, int merge_zeros, size_t vector, yc_program *);

#endif
