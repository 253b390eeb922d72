/* The places where the threads of a warp meet in the machine code of coarsened kernels.
 *
 * ptxas derives the places from the control flow of the PTX. BSSY opens a barrier, at which the threads that part later
 * meet in BSYNC. Each replica's copy of a region must have a barrier of its own around it: the code after it, first of
 * all the next replica's copy, is executed by threads that have met. A copy from whose branch threads leave the kernel
 * needs none.
 *
 * A shape's warp-level instructions are listed in the order of the PTX, each with the barriers that are open and that
 * threads may have parted in, by letters. */
#include "engine/report/refusal_words.h"
#include "parsed.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "sass/sass.h"
#include "tests/tools/one_pass.h"

enum { MOST_OPEN = 16 };

/* The barriers that are open at a place, the innermost last. */
typedef struct Open {
    uint32_t barriers[MOST_OPEN]; /* indices of BSSY instructions */
    bool parted[MOST_OPEN];       /* threads may have parted since */
    unsigned count;
    bool reached;
} Open;

typedef struct Names {
    uint32_t barriers[MOST_OPEN];
    unsigned count;
} Names;

typedef struct Walk {
    const SassMap *map;
    Open *at; /* by block: at its beginning */
    Open *in; /* by instruction */
    VEC(uint32_t) pending;
    Arena *arena;
} Walk;

/* The barriers after the instruction. */
static void step(Open *open, const SassInstruction *instruction, uint32_t index)
{
    if (strcmp(instruction->mnemonic, "BSSY") == 0) {
        assert_true(open->count < MOST_OPEN);
        open->parted[open->count] = false;
        open->barriers[open->count++] = index;
    } else if (strcmp(instruction->mnemonic, "BSYNC") == 0) {
        assert_true(open->count > 0);
        open->count--;
    } else if (instruction->conditional && instruction->flow != MACHINE_NEXT) {
        for (unsigned i = 0; i < open->count; i++)
            open->parted[i] = true;
    }
}

/* Control reaches the block with these barriers open. They must be the same on every path. */
static void reach(Walk *walk, uint32_t block, const Open *open)
{
    Open *at = &walk->at[block];
    bool changed = !at->reached;
    if (changed)
        *at = *open;
    assert_int_equal(at->count, open->count);
    for (unsigned i = 0; i < open->count; i++) {
        assert_int_equal(at->barriers[i], open->barriers[i]);
        changed |= open->parted[i] && !at->parted[i];
        at->parted[i] |= open->parted[i];
    }
    at->reached = true;
    if (changed)
        VEC_PUSH(walk->arena, walk->pending, block);
}

static void walk_block(Walk *walk, uint32_t number)
{
    const SassCode *code = walk->map->code;
    const SassBlock *block = &code->blocks[number];
    Open open = walk->at[number];
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        walk->in[i] = open;
        step(&open, &code->instructions[i], i);
    }
    for (uint32_t s = 0; s < block->successor_count; s++)
        reach(walk, block->successors[s], &open);
}

static bool is_warp_level(const SassInstruction *instruction)
{
    return instruction->class == MACHINE_WARP || strcmp(instruction->mnemonic, "VOTEU") == 0;
}

/* ".a.b": the barriers that are open and that threads may have parted in; 'names' are those of the letters. */
static void describe_open(const Open *open, Names *names, Buf *out)
{
    for (unsigned k = 0; k < open->count; k++) {
        if (!open->parted[k])
            continue;
        unsigned letter = 0;
        while (letter < names->count && names->barriers[letter] != open->barriers[k])
            letter++;
        assert_true(letter < MOST_OPEN);
        names->barriers[letter] = open->barriers[k];
        names->count = letter == names->count ? letter + 1 : names->count;
        buf_printf(out, ".%c", (char)('a' + letter));
    }
}

static void describe(Walk *walk, Buf *out)
{
    const SassCode *code = walk->map->code;
    Names names = {0};
    for (uint32_t p = 0; p < walk->map->lines.count; p++) {
        const Inst *inst = walk->map->lines.insts[p];
        Buf place = {0};
        for (uint32_t i = 0; i < code->count && inst->sync == SYNC_WARP; i++) {
            if (code->instructions[i].ptx != p || !is_warp_level(&code->instructions[i]) || !walk->in[i].reached)
                continue;
            Buf own = {0};
            describe_open(&walk->in[i], &names, &own);
            /* An instruction may be there twice, for lanes that have parted: in the same place. */
            if (!place.length)
                buf_printf(&place, "%s%s%s", out->length ? " " : "", opcode_name(inst_op(inst)), buf_text(&own));
            else
                assert_string_equal(strpbrk(buf_text(&place) + 1, ".") ? strpbrk(buf_text(&place) + 1, ".") : "",
                                    buf_text(&own));
            buf_free(&own);
        }
        buf_puts(out, buf_text(&place));
        buf_free(&place);
    }
}

/* The kernel's text after coarsening by two. */
static const char *coarsened(Arena *arena, const char *code)
{
    Buf text = {0}, out = {0};
    buf_printf(&text, HEADER ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n\t.reg .b32 %%r<20>, %%t;\n"
                             "\t.reg .b64 %%a;\n\t.reg .pred %%p<8>;\n\tld.param.u64 %%a, [out];\n"
                             "\tld.param.u32 %%r0, [n];\n\tmov.u32 %%t, %%tid.x;\n\tmad.wide.u32 %%a, %%t, 4, %%a;\n"
                             "\tand.b32 %%r9, %%t, 31;\n\tmov.u32 %%r1, %%t;\n%s"
                             "\tst.global.u32 [%%a], %%r1;\n\tret;\n}\n", code);
    Module *module = module_from(buf_text(&text));
    Body *body = body_from(module);
    body_to_ssa(body);
    CoarsenRequest request = {.shape.threads = {2, 1, 1}};
    LaunchContract contract;
    Refusal refusal;
    if (!coarsen_body(body, &request, &contract, &refusal, NULL))
        fail_msg("refused: %s\n%s", refusal_text(arena, &refusal), code);
    one_merge(body);
    one_dead_code(body);
    body_from_ssa(body);
    emit_module(module, &out);
    const char *result = arena_strndup(arena, buf_text(&out), out.length);
    buf_free(&text);
    buf_free(&out);
    release(module);
    return result;
}

static void check_places(const char *code, const char *arch, const char *expected)
{
    Arena *arena = arena_new();
    const char *error, *text = coarsened(arena, code);
    Module *module = module_from(text);
    SassRequest request = {.module = module, .kernel = "k", .assembly = assembly_request(NULL, 0)};
    request.assembler = assembler_open(arena, ASSEMBLER_PTXAS, arch, &error);
    if (!request.assembler)
        skip();
    Walk walk = {.arena = arena, .map = sass_map(arena, &request, &error)};
    assembler_close(request.assembler);
    assert_non_null(walk.map);
    assert_true(walk.map->mapped);
    walk.at = ARENA_ARRAY(arena, Open, walk.map->code->block_count);
    walk.in = ARENA_ARRAY(arena, Open, walk.map->code->count);
    reach(&walk, 0, &(Open){0});
    while (walk.pending.count)
        walk_block(&walk, VEC_POP(walk.pending));
    Buf places = {0};
    describe(&walk, &places);
    if (strcmp(buf_text(&places), expected) != 0)
        fail_msg("%s: '%s', not '%s'\n%s", arch, buf_text(&places), expected, text);
    buf_free(&places);
    arena_free(module->arena);
    arena_free(arena);
}

/* Exchanges %r1 with a neighbour. */
#define SHFL(TO) "\tshfl.sync.bfly.b32 %r" #TO ", %r1, 1, 31, -1;\n"
/* The odd threads, and a mask of them. */
#define ODD "\tand.b32 %r2, %t, 2;\n\tsetp.ne.u32 %p1, %r2, 0;\n\tvote.sync.ballot.b32 %r3, %p1, -1;\n"

static const char *const archs[] = {"sm_80", "sm_90"};

static void check_everywhere(const char *code, const char *expected)
{
    for (size_t i = 0; i < COUNT_OF(archs); i++)
        check_places(code, archs[i], expected);
}

static void test_shapes(void **state)
{
    (void)state;
    check_everywhere(ODD "\t@!%p1 bra J;\n\tshfl.sync.bfly.b32 %r1, %r9, 1, 31, %r3;\nJ:\n" SHFL(1),
                     "vote vote shfl.a shfl.b shfl shfl");
    check_everywhere(ODD "\t@!%p1 bra E;\n\tshfl.sync.bfly.b32 %r1, %r9, 1, 31, %r3;\n\tbra J;\n"
                         "E:\n\tnot.b32 %r3, %r3;\n\tmatch.any.sync.b32 %r1, %r9, %r3;\nJ:\n" SHFL(1),
                     "vote vote shfl.a match.a shfl.b match.b shfl shfl");
    check_everywhere(ODD "\t@!%p1 bra J;\n\tsetp.gt.u32 %p2, %r9, 9;\n\tvote.sync.ballot.b32 %r4, %p2, %r3;\n"
                         "\t@!%p2 bra I;\n\tredux.sync.add.u32 %r1, %r9, %r4;\nI:\n"
                         "\tshfl.sync.bfly.b32 %r1, %r1, 1, 31, %r3;\nJ:\n" SHFL(1),
                     "vote vote vote.a redux.a.b shfl.a vote.c redux.c.d shfl.c shfl shfl");
    /* a loop that some leave early */
    check_everywhere(ODD "\t@!%p1 bra J;\nL:\n\tadd.u32 %r1, %r1, %r9;\n\tsetp.lt.u32 %p2, %r1, 60;\n"
                         "\tvote.sync.ballot.b32 %r4, %p2, %r3;\n\t@!%p2 bra J;\n\tmov.u32 %r3, %r4;\n\tbra L;\nJ:\n"
                         SHFL(1),
                     "vote vote vote.a vote.b shfl shfl");
    /* The last copy's threads leave the kernel, and no thread waits for them; the others' meet before it. */
    check_everywhere("\tsetp.gt.u32 %p1, %r9, 12;\n\t@%p1 ret;\n\tshfl.sync.bfly.b32 %r1, %r9, 1, 31, -1;\n",
                     "vote vote shfl.a shfl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
