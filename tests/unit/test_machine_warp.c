/* The interpreter of machine code: threads of a warp that exchange values, part and are joined again, and barriers of
 * the block. Each case is a kernel's body, whose results are in R6, by thread. suite/check has whole kernels. */
#include "machine/internal.h"
#include "parsed.h"

#include <stdio.h>

enum { MOST_LINES = 24, MOST_THREADS = 96, RESULTS = 0x10000 };

/* R0 is the thread's number, R2:R3 the address of its result. A line may begin with "name:"; a branch to it has its
 * name in the end. */
typedef struct Case {
    const char *name, *lines[MOST_LINES];
    unsigned threads;
    uint32_t (*result)(unsigned thread); /* NULL: the run does not end */
    const char *message;                 /* then: a part of why */
    bool is_open, is_forked;
    uint32_t (*result_apart)(unsigned thread); /* in MACHINE_TAKEN_FIRST; NULL: the same, and forked as in the other */
} Case;

static uint32_t lane_xor_1(unsigned t) { return t ^ 1; }
static uint32_t in_fours(unsigned t) { return (t % 32 & ~3u) + 2; }
static uint32_t up_2(unsigned t) { return t % 32 < 2 ? t + 1000 : t - 2; }
static uint32_t down_in_eights(unsigned t) { return t % 8 < 7 ? t + 1 : t + 1000; }
static uint32_t evens(unsigned t) { return t % 2 ? 0 : 0x55555555; }
static uint32_t all_but_one(unsigned t) { return t % 32 == 5 ? 1 : 0; }
static uint32_t same_as_me(unsigned t) { return UINT32_C(0x11111111) << t % 4; }
static uint32_t all_lanes(unsigned t) { return t < 32 ? 0 : UINT32_MAX; }
static uint32_t sum_of_lanes(unsigned t) { return t < 32 ? 496 : 496 + 32 * 32; }
static uint32_t least(unsigned t) { return (uint32_t)-16 + 0 * t; }
static uint32_t greatest(unsigned t) { return (uint32_t)-1 + 0 * t; }
static uint32_t one(unsigned t) { return 1 + 0 * t; }
static uint32_t two(unsigned t) { return 2 + 0 * t; }
static uint32_t four(unsigned t) { return 4 + 0 * t; }
static uint32_t even_lanes(unsigned t) { return t % 2 ? 0xaaaaaaaa : 0x55555555; }
static uint32_t parts(unsigned t) { return t % 2 ? 7 : 5; }
static uint32_t eights(unsigned t) { return UINT32_C(0xff) << t % 32 / 8 * 8; }
static uint32_t count_of_64(unsigned t) { return 32 + 0 * t; }
static uint32_t first_warp(unsigned t) { return t < 32 ? 3 : 0; }
static uint32_t handed_over(unsigned t) { return t < 32 ? 77 : t; }
static uint32_t rounds(unsigned t) { return t % 4 + 1; }
static uint32_t returned(unsigned t) { return t % 2 ? 5 : 7; }
static uint32_t called(unsigned t) { return t + 1; }
static uint32_t sixteen(unsigned t) { return 16 + 0 * t; }
static uint32_t first_lane(unsigned t) { return t % 32 ? 0 : 1; }

#define IS_ODD "LOP3.LUT P0, RZ, R0, 0x1, RZ, 0xc0, !PT"

static const Case cases[] = {
    {"shuffles with all", {"SHFL.BFLY PT, R6, R0, 0x1, 0x1f"}, 64, .result = lane_xor_1},
    {"an index in fours", {"MOV R4, 0x2", "LOP3.LUT R5, R0, 0x1f, RZ, 0xc0, !PT", "SHFL.IDX PT, R6, R5, R4, 0x1c1f"},
     64, .result = in_fours},
    {"up, with a predicate", {"SHFL.UP P0, R6, R0, 0x2, RZ", "@!P0 IADD3 R6, R6, 0x3e9, RZ",
                              "@!P0 IADD3 R6, R6, -0x1, RZ"}, 64, .result = up_2},
    {"down in eights", {"SHFL.DOWN P0, R6, R0, 0x1, 0x181f",
            "@!P0 IADD3 R6, R6, 0x3e8, RZ"}, 32, .result = down_in_eights},
    {"a guard keeps lanes out", {IS_ODD, "MOV R6, RZ", "@!P0 VOTE.ANY R6, PT, PT"}, 32, .result = evens},
    {"all, but one", {"ISETP.NE.AND P0, PT, R0, 0x5, PT", "VOTE.ALL P1, P0", "VOTE.ANY P2, !P0", "SEL R6, RZ, 0x1, P0",
                      "@P1 MOV R6, 0x9", "@!P2 MOV R6, 0x9"}, 32, .result = all_but_one},
    {"none are alike, too", {"ISETP.LT.AND P0, PT, R0, RZ, PT", "VOTE.EQ P1, P0",
            "SEL R6, 0x1, RZ, P1"}, 32, .result = one},
    {"equal values", {"LOP3.LUT R4, R0, 0x3, RZ, 0xc0, !PT", "MATCH.ANY R6, R4"}, 64, .result = same_as_me},
    {"one value for all", {"SHF.R.U32.HI R4, RZ, 0x5, R0", "SEL R5, R4, R0, PT", "ISETP.NE.AND P1, PT, R4, RZ, PT",
                           "SEL R4, R4, R0, P1", "MATCH.ALL P0, R6, R4",
            "SEL R6, R6, RZ, P0"}, 64, .result = all_lanes},
    {"halves that differ", {"MOV R4, 0x1", "MOV R5, R0", "MATCH.ANY.U64 R6, R4", "POPC R6, R6"}, 32, .result = one},
    {"a sum", {"REDUX.SUM UR4, R0", "MOV R6, UR4"}, 64, .result = sum_of_lanes},
    {"the least with a sign", {"IADD3 R4, R0, -0x10, RZ", "REDUX.MIN.S32 UR4, R4", "MOV R6, UR4"}, 32, .result = least},
    {"the greatest without", {"IADD3 R4, R0, -0x10, RZ", "CREDUX.MAX UR4, R4", "MOV R6, UR4"}, 32, .result = greatest},
    {"AND, OR and XOR", {"LOP3.LUT R4, R0, 0x1, RZ, 0xfc, !PT", "REDUX UR4, R4", "REDUX.OR UR5, RZ",
            "REDUX.XOR UR6, R4",
                         "MOV R6, UR4", "IADD3 R6, R6, UR5, RZ", "IADD3 R6, R6, UR6, RZ"}, 32, .result = one},
    {"an election", {"ELECT P0, UR4, PT", "SEL R6, 0x1, RZ, P0"}, 32, .result = first_lane, .is_open = true},

    {"apart, and together again", {IS_ODD, "BSSY B0, done", "@P0 BRA odd", "VOTE.ANY R5, PT, PT", "BRA done",
                                   "odd: VOTE.ANY R5, PT, PT", "done: BSYNC B0", "VOTE.ANY P1, PT", "MOV R6, R5",
                                   "SHFL.BFLY PT, R4, R0, 0x1, 0x1f"}, 32, .result = even_lanes, .is_open = true},
    {"each part counts, and not together", {IS_ODD, "UMOV UR4, 0x0", "@P0 BRA odd", "MOV R5, 0x5", "BRA done",
                                            "odd: MOV R5, 0x7", "done: UIADD3 UR4, UR4, 0x1, URZ", "BAR.SYNC 0x0",
                                            "MOV R6, UR4"}, 32, .result = two, .is_forked = true},
    {"joined, they count once", {IS_ODD, "UMOV UR4, 0x0", "BSSY B3, done", "@P0 BRA odd", "MOV R5, 0x5", "BRA done",
                                 "odd: MOV R5, 0x7", "done: BSYNC B3", "UIADD3 UR4, UR4, 0x1, URZ", "MOV R6, UR4"},
     32, .result = one},
    {"by a mask", {IS_ODD, "UMOV UR4, 0x0", "@P0 BRA odd", "MOV R5, 0x5", "BRA done", "odd: MOV R5, 0x7",
                   "done: WARPSYNC 0xffffffff", "UIADD3 UR4, UR4, 0x1, URZ", "MOV R6, UR4"}, 32, .result = one},
    {"a mask without those that have ended", {IS_ODD, "@P0 STG.E [R2], R0", "MOV R6, 0x1", "MOV R5, 0x7",
            "@P0 MOV R6, R5",
                                              "@P0 STG.E [R2], R5", "@P0 EXIT", "MOV R6, 0x5",
            "WARPSYNC.ALL"}, 32, .result = parts},
    {"masks that differ", {"LOP3.LUT R4, R0, 0x18, RZ, 0xc0, !PT", "MOV R5, 0xff", "SHF.L.U32 R5, R5, R4, RZ",
                           "WARPSYNC.EXCLUSIVE R5", "VOTE.ANY R6, PT, PT"}, 32, .result = eights},
    {"a collective part", {"LOP3.LUT R4, R0, 0x18, RZ, 0xc0, !PT", "MOV R5, 0xff", "SHF.L.U32 R5, R5, R4, RZ",
                           "BSSY B0, done", "WARPSYNC.COLLECTIVE R5, next", "VOTE.ANY R6, PT, PT",
            "next: ENDCOLLECTIVE",
                           "done: BSYNC B0", "UMOV UR4, URZ", "UIADD3 UR4, UR4, 0x1, URZ", "MOV R4, UR4",
                           "ISETP.NE.AND P1, PT, R4, 0x1, PT", "@P1 MOV R6, RZ"}, 32, .result = eights},
    {"a plain mask leaves them together", {"LOP3.LUT R4, R0, 0x18, RZ, 0xc0, !PT", "MOV R5, 0xff",
                                           "SHF.L.U32 R5, R5, R4, RZ", "WARPSYNC R5", "UMOV UR4, 0x0",
                                           "UIADD3 UR4, UR4, 0x1, URZ", "MOV R6, UR4"}, 32, .result = one},
    {"out of a loop, and left", {"LOP3.LUT R4, R0, 0x3, RZ, 0xc0, !PT", "MOV R6, RZ", "BSSY B0, done",
                                 "loop: IADD3 R6, R6, 0x1, RZ", "ISETP.GT.AND P0, PT, R6, R4, PT",
                                 "@P0 BREAK B0", "@P0 BRA out", "BRA loop", "done: BSYNC B0", "out: WARPSYNC.ALL",
                                 "UMOV UR4, 0x0", "UIADD3 UR4, UR4, 0x1, URZ", "MOV R5, UR4",
                                 "ISETP.NE.AND P1, PT, R5, 0x1, PT", "@P1 MOV R6, RZ"}, 32, .result = rounds},
    {"some end before the others join", {IS_ODD, "BSSY B0, done", "@!P0 BRA done", "MOV R6, 0x7", "STG.E [R2], R6",
            "EXIT", "done: BSYNC B0", "MOV R6, 0x5"}, 32, .result = parts},
    {"left by a predicate", {"LOP3.LUT R4, R0, 0x3, RZ, 0xc0, !PT", "MOV R6, RZ", "BSSY B0, done",
            "loop: IADD3 R6, R6, 0x1, RZ", "ISETP.GT.AND P0, PT, R6, R4, PT", "BREAK P0, B0", "@P0 BRA out",
            "BRA loop", "done: BSYNC B0", "out: WARPSYNC.ALL"}, 32, .result = rounds},
    {"a return by a predicate", {IS_ODD, "MOV R6, 0x5", "MOV R8, 0x80", "RET.REL.NODEC P0, R8", "MOV R6, 0x7"}, 32,
     .result = returned},
    {"a loop that some leave first", {"LOP3.LUT R4, R0, 0x3, RZ, 0xc0, !PT", "MOV R6, RZ", "BSSY B0, done",
                                      "loop: IADD3 R6, R6, 0x1, RZ", "ISETP.GT.AND P0, PT, R6, R4, PT",
                                      "@!P0 BRA loop", "done: BSYNC B0", "UMOV UR4, 0x0",
                                      "UIADD3 UR4, UR4, 0x1, URZ", "MOV R5, UR4", "ISETP.NE.AND P1, PT, R5, 0x1, PT",
                                      "@P1 MOV R6, RZ"}, 32, .result = rounds},
    {"a register kept in another", {IS_ODD, "UMOV UR4, 0x0", "BSSY B0, done", "BMOV.32.CLEAR R8, B0", "BSSY B0, in",
                                    "in: BSYNC B0", "BMOV.32 B0, R8", "@P0 BRA done", "MOV R5, R0", "done: BSYNC B0",
                                    "UIADD3 UR4, UR4, 0x1, URZ", "MOV R6, UR4"}, 32, .result = one},
    {"to other code if apart", {IS_ODD, "UMOV UR5, 0xffffffff", "MOV R6, 0x1", "BRA.DIV UR5, apart", "BRA done",
                                "apart: MOV R6, 0x2", "done: BRA.CONV UR5, end", "MOV R6, 0x3",
            "end: NOP"}, 32, .result = one},
    {"to other code if a mask differs", {IS_ODD, "UMOV UR5, 0xffffffff", "MOV R6, 0x1", "@!P0 BRA.DIV UR5, apart",
                                         "BRA done", "apart: MOV R6, 0x2", "done: NOP"}, 32, .result = two},
    {"a loop that waits for others", {IS_ODD, "MOV R4, 0x400", "MOV R6, 0x1", "STS [R4], RZ", "WARPSYNC.ALL",
                                      "BSSY B0, done", "@P0 BRA odd", "loop: LDS R5, [R4]",
                                      "ISETP.NE.AND P1, PT, R5, 0x1, PT", "@P1 BRA loop", "BRA done",
                                      "odd: STS [R4], R6", "done: BSYNC B0"}, 32, .result = one},

    {"a branch that all take, or none", {IS_ODD, "MOV R6, 0x7", "@P0 BRA.U end", "MOV R6, 0x1", "UMOV UR4, 0x0",
                                         "UIADD3 UR4, UR4, 0x1, URZ", "UISETP.NE.AND UP0, UPT, UR4, 0x1, UPT",
                                         "BRA.U UP0, end", "BRA.U end", "MOV R6, RZ", "end: NOP"}, 32, .result = one},
    {"a function elsewhere", {"LEPC R8", "IADD3 R20, R8, 0x40, RZ", "MOV R21, R9", "CALL.ABS.NOINC function",
                              "IADD3 R6, R6, 0x1, RZ", "BRA end", "function: MOV R6, R0", "RET.ABS.NODEC R20 0x0",
                              "end: NOP"}, 32, .result = called},
    {"a function through a register", {"LEPC R8", "IADD3 R20, R8, 0x60, RZ", "MOV R21, R9", "IADD3 R10, R8, 0x80, RZ",
                                       "MOV R11, R9", "CALL.ABS.NOINC R10", "IADD3 R6, R6, 0x1, RZ", "BRA end",
                                       "MOV R6, R0", "RET.ABS.NODEC R20 0x0", "end: NOP"}, 32, .result = called},
    {"no function at all", {"MOV R10, 0x10", "MOV R11, RZ", "CALL.ABS.NOINC R10"}, 32,
     .message = "a branch to an unknown address"},
    {"within an instruction", {"LEPC R8", "IADD3 R8, R8, 0x8, RZ", "CALL.ABS.NOINC R8"}, 32,
     .message = "a branch to an unknown address"},

    /* Whether a barrier joins threads that come apart is not known: MACHINE_TAKEN_LAST assumes it. */
    {"joined by a barrier", {IS_ODD, "UMOV UR4, 0x0", "@P0 BRA odd", "MOV R5, 0x5", "BRA done", "odd: MOV R5, 0x7",
                             "done: BAR.SYNC 0x0", "UIADD3 UR4, UR4, 0x1, URZ", "BAR.SYNC 0x0", "MOV R6, UR4"}, 64,
     .result = one, .result_apart = two},
    {"joined by an arrival", {IS_ODD, "UMOV UR4, 0x0", "@P0 BRA odd", "MOV R5, 0x5", "BRA done", "odd: MOV R5, 0x7",
                              "done: BAR.ARV 0x2, 0x40", "UIADD3 UR4, UR4, 0x1, URZ", "BAR.SYNC 0x0", "MOV R6, UR4"},
     32, .result = one, .result_apart = two},
    {"at two instructions, not joined", {IS_ODD, "UMOV UR4, 0x0", "@P0 BRA odd", "BAR.SYNC 0x0", "BRA done",
                                         "odd: BAR.SYNC 0x0", "done: UIADD3 UR4, UR4, 0x1, URZ", "BAR.SYNC 0x0",
                                         "MOV R6, UR4"}, 32, .result = two, .is_forked = true},
    {"two instructions of three parts", {IS_ODD, "ISETP.LT.AND P1, PT, R0, 0x8, PT", "UMOV UR4, 0x0", "@P0 BRA odd",
                                         "@P1 BRA few", "NOP", "few: BAR.SYNC 0x0", "BRA done", "odd: @P1 BRA less",
                                         "NOP",
                                         "less: BAR.SYNC 0x0", "done: UIADD3 UR4, UR4, 0x1, URZ", "BAR.SYNC 0x0",
                                         "MOV R6, UR4"}, 32, .result = two, .is_forked = true, .result_apart = four},
    {"counted once, joined or not", {IS_ODD, "@P0 BRA odd", "MOV R5, 0x5", "BRA done", "odd: MOV R5, 0x7",
                                     "done: BAR.RED.POPC 0x1, P0", "B2R.RESULT R6"}, 32, .result = sixteen},

    {"different values in a uniform register", {"R2UR UR4, R0",
            "MOV R6, UR4"}, 32, .message = "moves 0x00000000 from thread 0 of the block and 0x00000001 from thread 1"},
    {"different values, in an address", {"R2UR UR4, R0", "LDS R6, [UR4]"}, 32,
     .message = "moves 0x00000000 from thread 0 of the block and 0x00000001 from thread 1"},
    {"different values that nothing reads", {"R2UR UR4, R0", "UMOV UR4, 0x1", "MOV R6, UR4"}, 32, .result = one},
    {"different values, then a sum", {"MOV R4, 0x1", "R2UR UR4, R0", "REDUX.OR UR4, R4", "MOV R6, UR4"}, 32,
     .result = one},
    {"different values, in nothing", {"R2UR P1, URZ, R0", "SEL R6, 0x1, RZ, P1"}, 32, .result = one},
    {"the same value", {"MOV R4, 0x1", "R2UR P1, UR4, R4", "MOV R6, UR4", "@P1 MOV R6, RZ"}, 32, .result = one},
    {"different special values", {"S2UR UR4, SR_LANEID",
            "MOV R6, UR4"}, 32, .message = "SR_LANEID in a uniform register"},

    {"counts, of whom", {"ISETP.LT.AND P0, PT, R0, 0x20, PT", "BAR.RED.POPC 0x1, P0", "B2R.RESULT R6"}, 64,
     .result = count_of_64},
    {"for any and for all", {"ISETP.LT.AND P0, PT, R0, 0x20, PT", "BAR.RED.AND 0x1, P0", "B2R.RESULT RZ, P1",
                             "BAR.RED.OR 0x1, P0", "B2R.RESULT RZ, P2", "SEL R6, RZ, 0x1, P1", "@!P2 MOV R6, RZ"}, 64,
     .result = one},
    {"of one warp", {"ISETP.LT.AND P0, PT, R0, 0x20, PT", "MOV R6, RZ", "MOV R4, 0x200002", "@!P0 BRA end",
                     "BAR.SYNC R4, R4", "BAR.SYNC 0x2, 0x20", "MOV R6, 0x3", "end: NOP"}, 64, .result = first_warp},
    {"arriving, and waiting", {"ISETP.LT.AND P0, PT, R0, 0x20, PT", "MOV R4, 0x400", "MOV R5, 0x4d", "MOV R6, R0",
                               "@!P0 BRA give", "BAR.SYNC 0x2, 0x40", "LDS R6, [R4]", "BRA end", "give: STS [R4], R5",
                               "BAR.ARV 0x2, 0x40", "end: NOP"}, 64, .result = handed_over},
    {"a barrier for one warp alone", {"ISETP.LT.AND P0, PT, R0, 0x20, PT", "@P0 BAR.SYNC 0x2, 0x40",
            "MOV R6, RZ"}, 64, .message = "threads that wait for one another"},
    {"parts of a warp at two", {IS_ODD, "@P0 BAR.SYNC 0x2, 0x20", "@!P0 BAR.SYNC 0x3, 0x20",
            "MOV R6, RZ"}, 32, .message = "threads that wait for one another"},
    {"a mask without oneself", {"WARPSYNC 0x7", "MOV R6, RZ"}, 32, .message = "a mask without the thread itself"},
    {"an unknown result", {"BAR.RED.AND 0x1, PT", "B2R.RESULT R6"}, 32, .message = "this form of a barrier's result"},
    {"an unknown barrier", {"MOV R4, RZ", "MOV R5, 0x20", "BAR.SYNC R4, R5"}, 32, .message = "this form of a barrier"},
};

/* The line that has the label at the end of the text. */
static uint32_t find_label(const char *const *lines, unsigned count, const char *text)
{
    const char *last = strrchr(text, ' ');
    for (unsigned i = 0; last && i < count; i++) {
        const char *colon = strchr(lines[i], ':');
        if (colon && strlen(last + 1) == (size_t)(colon - lines[i]) &&
            strncmp(last + 1, lines[i], (size_t)(colon - lines[i])) == 0)
            return i;
    }
    return MACHINE_NONE;
}

static SassCode *make_code(Arena *arena, const Case *test)
{
    static const char *const head[] = {"S2R R0, SR_TID.X", "MOV R2, 0x4", "IMAD.WIDE.U32 R2, R0, R2, c[0x0][0x160]"};
    static const char *const tail[] = {"STG.E [R2], R6", "EXIT"};
    const char *lines[MOST_LINES + 5];
    unsigned count = 0;
    for (unsigned i = 0; i < 3; i++)
        lines[count++] = head[i];
    for (unsigned i = 0; i < MOST_LINES && test->lines[i]; i++)
        lines[count++] = test->lines[i];
    for (unsigned i = 0; i < 2; i++)
        lines[count++] = tail[i];
    SassCode *code = ARENA_NEW(arena, SassCode);
    *code = (SassCode){.arch = {.number = 75}, .count = count,
                       .instructions = ARENA_ARRAY(arena, SassInstruction, count)};
    for (unsigned i = 0; i < count; i++) {
        const char *colon = strchr(lines[i], ':');
        code->instructions[i] = (SassInstruction){.text = colon ? colon + 2 : lines[i], .address = 16 * i,
                                                  .target = find_label(lines, count, lines[i]), .ptx = MACHINE_NONE};
    }
    return code;
}

static void run_case(const Case *test, MachineOrder order)
{
    Arena *arena = arena_new();
    SassCode *code = make_code(arena, test);
    const SassMap map = {.code = code};
    uint32_t results[MOST_THREADS];
    uint8_t bank[0x200] = {0};
    uint64_t address = RESULTS;
    Program program = {.map = &map, .code = machine_decode(arena, code), .count = code->count, .banks = {bank},
                       .bank_sizes = {sizeof bank}, .bank0_parameters = 0x160};
    const EmulatorMemory memory = {.name = "results", .address = RESULTS, .size = sizeof results,
                                   .bytes = (uint8_t *)results};
    const MachineLaunch launch = {.grid = {1, 1, 1}, .block = {test->threads, 1, 1}, .parameters = (uint8_t *)&address,
                                  .parameter_bytes = sizeof address, .memories = &memory, .memory_count = 1,
                                  .order = order};
    for (unsigned i = 0; i < code->count; i++)
        if (program.code[i].problem)
            fail_msg("%s: %s", test->name, program.code[i].problem);
    for (unsigned i = 0; i < code->count; i++)
        program.code[i].is_open = false;
    const MachineEnd *end = machine_run(arena, &program, &launch);
    if (!test->result) {
        if (end->kind == MACHINE_DONE || !strstr(end->message, test->message))
            fail_msg("%s: %s", test->name, end->message ? end->message : "it is done");
        arena_free(arena);
        return;
    }
    if (end->kind != MACHINE_DONE)
        fail_msg("%s, order %u: %s", test->name, order, end->message);
    const bool is_apart = test->result_apart && order == MACHINE_TAKEN_FIRST;
    for (unsigned i = 0; i < test->threads; i++)
        if (results[i] != (is_apart ? test->result_apart : test->result)(i))
            fail_msg("%s, order %u: thread %u gives 0x%x", test->name, order, i, results[i]);
    if ((end->open != MACHINE_NONE) != test->is_open || (end->forked != MACHINE_NONE) != (test->is_forked || is_apart))
        fail_msg("%s, order %u: open at 0x%x, forked at 0x%x", test->name, order, end->open, end->forked);
    arena_free(arena);
}

static void test_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (unsigned order = 0; order < MACHINE_ORDERS; order++)
            run_case(&cases[i], order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
