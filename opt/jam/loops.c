/* The loops of a kernel as it was written, for those who name them. */
#include "analysis/analysis.h"
#include "opt/jam/unroll_jam.h"

#include <string.h>

typedef struct Written {
    Body *body;
    Analyses *analyses;
    const LoopForest *loops;
} Written;

static bool written_open(Written *written, Function *kernel)
{
    const char *reason;
    *written = (Written){.body = module_is_debug(kernel->module) ? NULL : body_build(kernel, &reason)};
    if (!written->body)
        return false;
    written->analyses = analyses_new(written->body);
    written->loops = analyses_loops(written->analyses);
    return true;
}

static void written_close(Written *written)
{
    analyses_free(written->analyses);
    body_free(written->body);
}

unsigned unroll_jam_loops(Arena *arena, Function *kernel, const char ***labels)
{
    Written written;
    unsigned count = 0;
    if (!written_open(&written, kernel))
        return 0;
    const LoopForest *loops = written.loops;
    *labels = ARENA_ARRAY(arena, const char *, loops->loop_count);
    for (unsigned inner = 0; inner < 2; inner++)
        for (uint32_t i = 0; i < loops->loop_count; i++) {
            const Loop *loop = &loops->loops[i];
            bool is_innermost = loop->end == loop->index + 1;
            if (loop->header->label && is_innermost == (bool)inner)
                (*labels)[count++] = loop->header->label;
        }
    written_close(&written);
    return count;
}

/* The last statement before the place that is a label or an instruction, and the first one after it. */
static void find_neighbours(const Function *kernel, uint32_t place, const Stmt **before, const Stmt **after)
{
    *before = *after = NULL;
    for (size_t i = 0; i < kernel->stmts.count && !*after; i++) {
        const Stmt *stmt = &kernel->stmts.data[i];
        if (stmt->kind != STMT_INST && stmt->kind != STMT_LABEL)
            continue;
        if (stmt->span.begin < place)
            *before = stmt;
        else
            *after = stmt;
    }
}

/* The block of the body that begins with the label, or has the instruction. */
static const Block *block_of(const Body *body, const Stmt *stmt)
{
    for (size_t b = 0; stmt && b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        if (stmt->kind == STMT_LABEL && block->label && strcmp(block->label, stmt->label->name) == 0)
            return block;
        for (const Inst *inst = block->first; inst && stmt->kind == STMT_INST; inst = inst->next)
            if (inst->span.begin == stmt->inst->span.begin && inst->span.end == stmt->inst->span.end)
                return block;
    }
    return NULL;
}

const char *unroll_jam_loop_at(Function *kernel, uint32_t place)
{
    Written written;
    const Stmt *before, *after;
    if (!written_open(&written, kernel))
        return NULL;
    find_neighbours(kernel, place, &before, &after);
    bool ends = before && before->kind == STMT_INST && inst_is_terminator(before->inst);
    const Block *block = block_of(written.body, before && !ends ? before : after);
    const Loop *loop = block ? loop_of(written.loops, block) : NULL;
    const char *label = loop ? loop->header->label : NULL;
    written_close(&written);
    return label;
}
