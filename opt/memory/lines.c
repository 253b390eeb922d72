/* Lines: thread x reads element x + k in round k, so threads share elements that they read in different rounds. */
#include "opt/memory/internal.h"

#include <stdlib.h>

enum { STEP_MOST = 64, ACROSS_MOST = 16 /* elements of a round, and between threads */ };

void line_find_root(const Staging *s, Member *member)
{
    const AffineForm *form = &analyses_affine(s->analyses)->forms[member->base];
    member->root = REG_NONE;
    if (form->bits != 64 || form->term_count != 1 || form->terms[0].base != AFFINE_VALUE ||
        form->terms[0].coefficient != 1)
        return;
    RegId root = form->terms[0].reg;
    const ValueDef *def = &s->values->defs[root];
    if (def->block != s->loop->header || def->inst || type_bits(s->body->regs.data[root].type) != 64 ||
        !s->inductions[def->phi].is_found || s->inductions[def->phi].step.term_count)
        return;
    member->root = root;
    member->from_root = form->constant + member->offset;
}

/* Whether thread x reads whole elements from across * x + step * round on. */
static bool is_of_line(const Member *member)
{
    const Pattern *pattern = &member->pattern;
    const unsigned needed = 1 << INDEX_X | 1 << INDEX_ROUND;
    const int64_t across = pattern->slope[INDEX_X], step = pattern->slope[INDEX_ROUND], bytes = member->bytes;
    return member->root != REG_NONE && member->bits >= 16 && member->bits <= 64 &&
           (pattern->depends & needed) == needed && !(pattern->unknown & needed) && across > 0 && step > 0 &&
           across % bytes == 0 && step % bytes == 0 && across <= ACROSS_MOST * bytes && step <= STEP_MOST * bytes;
}

/* The loads of a line that overlap or touch, from that with the lowest address on; their number, and the end of what
 * they read, in bytes from the root. */
static unsigned find_members(const MemberVec *members, const bool *taken, size_t first, size_t line[MEMBERS_MOST],
                          int64_t *end)
{
    const Member *start = &members->data[first];
    unsigned count = 1;
    line[0] = first;
    *end = start->from_root + start->count * start->bytes;
    for (size_t i = 0; i < members->count && count < MEMBERS_MOST; i++) {
        const Member *member = &members->data[i];
        bool is_in = i != first && !taken[i] && member->root == start->root && member->type == start->type &&
                     member->inst->block == start->inst->block && member->from_root >= start->from_root &&
                     member->from_root <= *end && member->bits == start->bits &&
                     (member->from_root - start->from_root) % start->bytes == 0;
        if (!is_in)
            continue;
        line[count++] = i;
        int64_t after = member->from_root + member->count * member->bytes;
        *end = after > *end ? after : *end;
    }
    return count;
}

/* Vectors must be aligned in the line as they are in memory. */
static bool line_is_aligned(const MemberVec *members, const size_t *line, unsigned count)
{
    const Member *start = &members->data[line[0]];
    for (unsigned m = 0; m < count; m++) {
        const Member *member = &members->data[line[m]];
        int64_t wide = member->count * member->bytes;
        if (member->count > 1 && ((member->from_root - start->from_root) % wide ||
                                  member->pattern.slope[INDEX_X] % wide || member->pattern.slope[INDEX_ROUND] % wide))
            return false;
    }
    return true;
}

static int compare_members(const void *a, const void *b)
{
    const Member *x = a, *y = b;
    return x->from_root != y->from_root ? (x->from_root < y->from_root ? -1 : 1)
                                        : (x->inst->id > y->inst->id) - (x->inst->id < y->inst->id);
}

/* The most elements that are neighbours at a multiple of their bytes, in all threads and rounds: line_padding() keeps
 * rows at such places. */
static unsigned line_chunk(const Tile *tile, unsigned bytes)
{
    unsigned chunk = UNIT_MEMBERS_MOST;
    while (chunk * bytes > UNIT_MOST || tile->across % chunk || tile->step % chunk)
        chunk /= 2;
    return chunk;
}

void line_make(Tile *tile, int64_t end)
{
    qsort(tile->members, tile->member_count, sizeof *tile->members, compare_members);
    const Member *start = &tile->members[0];
    Index others[INDEX_COUNT];
    unsigned count = 0;
    tile->is_line = true;
    tile->across = (unsigned)(start->pattern.slope[INDEX_X] / start->bytes);
    tile->step = (unsigned)(start->pattern.slope[INDEX_ROUND] / start->bytes);
    tile->span = (unsigned)((end - start->from_root) / start->bytes);
    tile->chunk = line_chunk(tile, start->bytes);
    tile->pad = (tile->chunk - tile->span % tile->chunk) % tile->chunk;
    tile->start = start->from_root;
    tile->unit = start->bytes;
    tile->count = 1;
    for (unsigned d = 0; d < tile->dim_count; d++)
        if (tile->dims[d] != INDEX_X && tile->dims[d] != INDEX_ROUND)
            others[count++] = tile->dims[d];
    for (unsigned d = 0; d < count; d++)
        tile->dims[d + 1] = others[d];
    tile->dims[0] = INDEX_LINE;
    tile->dim_count = count + 1;
}

/* Whether some thread reads each element of the line, and several threads read most of them. */
static bool line_is_shared(const Staging *s, const Member *start, int64_t end)
{
    int64_t span = end - start->from_root, across = start->pattern.slope[INDEX_X];
    int64_t reach = across * (s->block.threads[0] - 1) + span;
    return across <= span && start->pattern.slope[INDEX_ROUND] <= reach / 2;
}

static bool is_lowest(const MemberVec *members, const bool *taken, size_t first)
{
    for (size_t i = 0; i < members->count; i++)
        if (!taken[i] && members->data[i].root == members->data[first].root &&
            members->data[i].from_root < members->data[first].from_root)
            return false;
    return true;
}

unsigned line_find(const Staging *s, const MemberVec *members, const bool *taken, size_t first,
                   size_t line[MEMBERS_MOST], int64_t *end)
{
    if (!is_of_line(&members->data[first]) || !is_lowest(members, taken, first))
        return 0;
    unsigned count = find_members(members, taken, first, line, end);
    bool is_line = line_is_shared(s, &members->data[first], *end) && line_is_aligned(members, line, count);
    return is_line ? count : 0;
}

uint32_t line_padding(const Staging *s, const Tile *tile)
{
    uint32_t width = s->block.threads[0] * tile->across % LANES, size = tile->sizes[0] % LANES;
    if (tile->dim_count > 1 && width && tile->unit == sizeof(uint32_t) && width % UNIT_MEMBERS_MOST == 0)
        return (width + LANES - size) % LANES;
    return (UNIT_MOST - tile->sizes[0] % UNIT_MOST) % UNIT_MOST;
}
