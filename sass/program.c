/* A solver for sparse linear programs: Mehrotra's predictor-corrector interior-point method (Nocedal and Wright,
 * "Numerical Optimization", chapter 14). Each iteration solves (A D A') y = r with a diagonal D by a sparse Cholesky
 * factorization (Davis, "Direct Methods for Sparse Linear Systems", chapter 4) in a minimum-degree order. The rows here
 * are the blocks of structured control flow, which hardly fills in, so the time is nearly proportional to the size. */
#include "sass/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 80 };
#define TOLERANCE 1e-9

uint32_t program_row(LinearProgram *program, double value)
{
    VEC_PUSH(program->arena, program->values, value);
    return (uint32_t)program->values.count - 1;
}

uint32_t program_variable(LinearProgram *program, double cost)
{
    VEC_PUSH(program->arena, program->costs, cost);
    VEC_PUSH(program->arena, program->columns, (TermVec){0});
    return (uint32_t)program->costs.count - 1;
}

void program_term(LinearProgram *program, uint32_t row, uint32_t variable, double factor)
{
    VEC_PUSH(program->arena, program->columns.data[variable], (Term){row, factor});
}

/* The factor L of P A D A' P', by columns; rows and columns are in elimination order. */
typedef struct Factor {
    uint32_t n;
    uint32_t *position; /* of each row of the program in the order */
    uint32_t *begin;    /* of each column, n + 1 */
    uint32_t *index;    /* rows below the diagonal, ascending */
    double *value, *diagonal;
} Factor;

typedef VEC(uint32_t) IndexVec;

static bool contains(const IndexVec *set, uint32_t value)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->data[i] == value)
            return true;
    return false;
}

/* Two rows are neighbours if they share a variable. */
static IndexVec *neighbours(Arena *arena, const LinearProgram *program)
{
    IndexVec *sets = ARENA_ARRAY(arena, IndexVec, program->values.count + 1);
    for (size_t c = 0; c < program->columns.count; c++) {
        const TermVec *terms = &program->columns.data[c];
        for (size_t i = 0; i < terms->count; i++)
            for (size_t k = 0; k < terms->count; k++)
                if (terms->data[i].row != terms->data[k].row &&
                    !contains(&sets[terms->data[i].row], terms->data[k].row))
                    VEC_PUSH(arena, sets[terms->data[i].row], terms->data[k].row);
    }
    return sets;
}

static void remove_member(IndexVec *set, uint32_t value)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->data[i] == value) {
            set->data[i] = set->data[--set->count];
            return;
        }
    }
}

/* Eliminates the rows by ascending degree. A row's set at its elimination is its column of L. The buckets hold rows by
 * a degree that they may have outgrown. */
static uint32_t *order_rows(Arena *arena, IndexVec *sets, uint32_t n)
{
    uint32_t *position = ARENA_ARRAY(arena, uint32_t, n + 1), done = 0;
    bool *eliminated = ARENA_ARRAY(arena, bool, n + 1);
    IndexVec *buckets = ARENA_ARRAY(arena, IndexVec, n + 1);
    for (uint32_t r = 0; r < n; r++)
        VEC_PUSH(arena, buckets[sets[r].count], r);
    for (uint32_t degree = 0; done < n;) {
        if (buckets[degree].count == 0) {
            degree++;
            continue;
        }
        uint32_t row = VEC_POP(buckets[degree]);
        if (eliminated[row] || sets[row].count != degree)
            continue;
        eliminated[row] = true;
        position[row] = done++;
        uint32_t least = degree;
        for (size_t i = 0; i < sets[row].count; i++) {
            uint32_t neighbour = sets[row].data[i];
            remove_member(&sets[neighbour], row);
            for (size_t k = 0; k < sets[row].count; k++)
                if (k != i && !contains(&sets[neighbour], sets[row].data[k]))
                    VEC_PUSH(arena, sets[neighbour], sets[row].data[k]);
            uint32_t now = (uint32_t)sets[neighbour].count;
            VEC_PUSH(arena, buckets[now], neighbour);
            least = now < least ? now : least;
        }
        degree = least;
    }
    return position;
}

static int compare_indices(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

static Factor analyse(Arena *arena, const LinearProgram *program)
{
    uint32_t n = (uint32_t)program->values.count;
    IndexVec *sets = neighbours(arena, program);
    Factor factor = {.n = n, .position = order_rows(arena, sets, n)};
    uint32_t *row_at = ARENA_ARRAY(arena, uint32_t, n + 1);
    for (uint32_t r = 0; r < n; r++)
        row_at[factor.position[r]] = r;
    factor.begin = ARENA_ARRAY(arena, uint32_t, n + 1);
    for (uint32_t c = 0; c < n; c++)
        factor.begin[c + 1] = factor.begin[c] + (uint32_t)sets[row_at[c]].count;
    factor.index = ARENA_ARRAY(arena, uint32_t, factor.begin[n] + 1);
    factor.value = ARENA_ARRAY(arena, double, factor.begin[n] + 1);
    factor.diagonal = ARENA_ARRAY(arena, double, n + 1);
    for (uint32_t c = 0; c < n; c++) {
        const IndexVec *set = &sets[row_at[c]];
        uint32_t *index = factor.index + factor.begin[c];
        for (size_t i = 0; i < set->count; i++)
            index[i] = factor.position[set->data[i]];
        qsort(index, set->count, sizeof *index, compare_indices);
    }
    return factor;
}

/* L's entry in a column, which exists. */
static double *factor_entry(const Factor *factor, uint32_t row, uint32_t column)
{
    uint32_t low = factor->begin[column], high = factor->begin[column + 1];
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (factor->index[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return &factor->value[low];
}

/* L D L' = A diag(weights) A', right-looking. */
static void factorize(const LinearProgram *program, Factor *factor, const double *weights)
{
    memset(factor->value, 0, factor->begin[factor->n] * sizeof *factor->value);
    memset(factor->diagonal, 0, factor->n * sizeof *factor->diagonal);
    for (size_t c = 0; c < program->columns.count; c++) {
        const TermVec *terms = &program->columns.data[c];
        for (size_t i = 0; i < terms->count; i++) {
            for (size_t k = 0; k <= i; k++) {
                double product = weights[c] * terms->data[i].factor * terms->data[k].factor;
                uint32_t a = factor->position[terms->data[i].row], b = factor->position[terms->data[k].row];
                if (i == k)
                    factor->diagonal[a] += product;
                else if (a == b)
                    factor->diagonal[a] += 2 * product;
                else
                    *factor_entry(factor, a > b ? a : b, a > b ? b : a) += product;
            }
        }
    }
    for (uint32_t c = 0; c < factor->n; c++) {
        uint32_t begin = factor->begin[c], end = factor->begin[c + 1];
        if (!(factor->diagonal[c] > 1e-30))
            factor->diagonal[c] = 1e30; /* numerically dependent: the row's multiplier stays */
        for (uint32_t i = begin; i < end; i++) {
            double multiple = factor->value[i] / factor->diagonal[c];
            factor->diagonal[factor->index[i]] -= multiple * factor->value[i];
            for (uint32_t k = i + 1; k < end; k++)
                *factor_entry(factor, factor->index[k], factor->index[i]) -= multiple * factor->value[k];
        }
        for (uint32_t i = begin; i < end; i++)
            factor->value[i] /= factor->diagonal[c];
    }
}

/* Solves for 'right', which is by rows of the program, in place. */
static void substitute(const Factor *factor, double *right, double *work)
{
    for (uint32_t r = 0; r < factor->n; r++)
        work[factor->position[r]] = right[r];
    for (uint32_t c = 0; c < factor->n; c++)
        for (uint32_t i = factor->begin[c]; i < factor->begin[c + 1]; i++)
            work[factor->index[i]] -= factor->value[i] * work[c];
    for (uint32_t c = factor->n; c-- > 0;) {
        work[c] /= factor->diagonal[c];
        for (uint32_t i = factor->begin[c]; i < factor->begin[c + 1]; i++)
            work[c] -= factor->value[i] * work[factor->index[i]];
    }
    for (uint32_t r = 0; r < factor->n; r++)
        right[r] = work[factor->position[r]];
}

/* An iterate: x primal, y multipliers of the rows, s slacks of the dual; and a step of each. */
typedef struct State {
    const LinearProgram *program;
    uint32_t m, n; /* rows, variables */
    Factor factor;
    double *x, *y, *s, *dx, *dy, *ds;
    double *primal, *dual, *complementary; /* residuals b - Ax, c - A'y - s, and the target of x*s less x*s */
    double *weights, *work;
} State;

static double *numbers(const LinearProgram *program, size_t count)
{
    return ARENA_ARRAY(program->arena, double, count + 1);
}

static double column_times(const TermVec *terms, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++)
        sum += terms->data[i].factor * y[terms->data[i].row];
    return sum;
}

static void add_column(const TermVec *terms, double scale, double *rows)
{
    for (size_t i = 0; i < terms->count; i++)
        rows[terms->data[i].row] += terms->data[i].factor * scale;
}

static void find_residuals(State *state)
{
    memcpy(state->primal, state->program->values.data, state->m * sizeof(double));
    for (uint32_t c = 0; c < state->n; c++) {
        const TermVec *terms = &state->program->columns.data[c];
        add_column(terms, -state->x[c], state->primal);
        state->dual[c] = state->program->costs.data[c] - column_times(terms, state->y) - state->s[c];
    }
}

/* The Newton step for the residuals; 'weights' is x / s and factorized. */
static void find_step(State *state)
{
    memcpy(state->dy, state->primal, state->m * sizeof(double));
    for (uint32_t c = 0; c < state->n; c++)
        add_column(&state->program->columns.data[c],
                   state->weights[c] * state->dual[c] - state->complementary[c] / state->s[c], state->dy);
    substitute(&state->factor, state->dy, state->work);
    for (uint32_t c = 0; c < state->n; c++) {
        state->ds[c] = state->dual[c] - column_times(&state->program->columns.data[c], state->dy);
        state->dx[c] = (state->complementary[c] - state->x[c] * state->ds[c]) / state->s[c];
    }
}

/* The longest step, at most 1, that leaves all values positive. */
static double step_length(const double *values, const double *step, uint32_t count)
{
    double length = 1;
    for (uint32_t i = 0; i < count; i++)
        if (step[i] < 0 && -values[i] / step[i] < length)
            length = -values[i] / step[i];
    return length;
}

static double dot(const double *a, const double *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double largest(const double *values, uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* Shifts the values so that they are positive and their products with 'other' are not tiny. */
static void start_positive(double *values, uint32_t count)
{
    double least = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        least = fmin(least, values[i]);
    for (uint32_t i = 0; i < count; i++) {
        values[i] += -1.5 * least;
        sum += values[i];
    }
    double shift = count ? 0.5 * sum / count : 0;
    for (uint32_t i = 0; i < count; i++)
        values[i] += fmax(shift, 1e-6);
}

/* Mehrotra's starting point: the least-squares solutions, made positive. */
static void start(State *state)
{
    const LinearProgram *program = state->program;
    for (uint32_t c = 0; c < state->n; c++)
        state->weights[c] = 1;
    factorize(program, &state->factor, state->weights);
    double *rows = state->dy;
    memcpy(rows, program->values.data, state->m * sizeof(double));
    substitute(&state->factor, rows, state->work);
    for (uint32_t c = 0; c < state->n; c++)
        state->x[c] = column_times(&program->columns.data[c], rows);
    memset(state->y, 0, state->m * sizeof(double));
    for (uint32_t c = 0; c < state->n; c++)
        add_column(&program->columns.data[c], program->costs.data[c], state->y);
    substitute(&state->factor, state->y, state->work);
    for (uint32_t c = 0; c < state->n; c++)
        state->s[c] = program->costs.data[c] - column_times(&program->columns.data[c], state->y);
    start_positive(state->x, state->n);
    start_positive(state->s, state->n);
}

/* One predictor-corrector step; 'mu' is the mean of x * s. */
static void advance(State *state, double mu)
{
    for (uint32_t c = 0; c < state->n; c++) {
        state->weights[c] = state->x[c] / state->s[c];
        state->complementary[c] = -state->x[c] * state->s[c];
    }
    factorize(state->program, &state->factor, state->weights);
    find_step(state);
    double primal = step_length(state->x, state->dx, state->n), dual = step_length(state->s, state->ds, state->n);
    double after = 0;
    for (uint32_t c = 0; c < state->n; c++)
        after += (state->x[c] + primal * state->dx[c]) * (state->s[c] + dual * state->ds[c]);
    double centring = pow(after / state->n / mu, 3);
    for (uint32_t c = 0; c < state->n; c++)
        state->complementary[c] = centring * mu - state->x[c] * state->s[c] - state->dx[c] * state->ds[c];
    find_step(state);
    primal = fmin(1, 0.995 * step_length(state->x, state->dx, state->n));
    dual = fmin(1, 0.995 * step_length(state->s, state->ds, state->n));
    for (uint32_t c = 0; c < state->n; c++) {
        state->x[c] += primal * state->dx[c];
        state->s[c] += dual * state->ds[c];
    }
    for (uint32_t r = 0; r < state->m; r++)
        state->y[r] += dual * state->dy[r];
}

double *program_solve(const LinearProgram *program)
{
    uint32_t m = (uint32_t)program->values.count, n = (uint32_t)program->costs.count;
    State state = {.program = program, .m = m, .n = n, .factor = analyse(program->arena, program)};
    double **of_variables[] = {&state.x, &state.s, &state.dx, &state.ds, &state.dual, &state.complementary,
                               &state.weights};
    double **of_rows[] = {&state.y, &state.dy, &state.primal, &state.work};
    for (size_t i = 0; i < COUNT_OF(of_variables); i++)
        *of_variables[i] = numbers(program, n);
    for (size_t i = 0; i < COUNT_OF(of_rows); i++)
        *of_rows[i] = numbers(program, m);
    if (n == 0)
        return state.x;
    start(&state);
    double values = 1 + largest(program->values.data, m), costs = 1 + largest(program->costs.data, n);
    for (unsigned i = 0; i < ITERATIONS; i++) {
        find_residuals(&state);
        double mu = dot(state.x, state.s, n) / n, cost = dot(state.x, program->costs.data, n);
        if (largest(state.primal, m) <= TOLERANCE * values && largest(state.dual, n) <= TOLERANCE * costs &&
            mu * n <= TOLERANCE * (1 + fabs(cost)))
            break;
        if (!(mu > 0) || !isfinite(mu))
            break;
        advance(&state, mu);
    }
    return state.x;
}
