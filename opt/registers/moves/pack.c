/* Packing: values of few bits share a register between their uses.
 *
 * Flags, bytes and 16-bit ranks take 32 bits each in machine code. If too many values are live, they become fields of
 * one word: each is added to the word where it is defined, and taken out again before uses that are far away
 * (bitwidth-aware allocation as in Tallam and Gupta, "Bitwidth Aware Global Register Allocation", POPL 2003, but in
 * PTX, with one size for all fields of a word).
 *
 * The definitions of a word's members dominate one another in the order in which they are added, so each has a word
 * before it to be added to. A use reads the last of these words that dominates it. That one holds what the member
 * was when control came to it last: control cannot come to the member's definition again, and then to the use, without
 * coming to the later word's definition in between, or that would not dominate the use. */
#include "opt/registers/moves/pack.h"

#include <stdlib.h>

#include "opt/registers/moves/gaps.h"
#include "opt/registers/search/estimate.h"
#include "opt/registers/search/search.h"

enum {
    WORD_BITS = 32,
    FIELD_MOST = 16, /* bits */
    MEMBERS_MOST = WORD_BITS,
    WORDS_MOST = 512, /* of a body */
    WORDS_TRIED = 32, /* for one member: the last ones */
};

/* A value of few bits. */
typedef struct Member {
    RegId value;
    unsigned size;    /* of its field */
    uint64_t cost;    /* of adding and taking it out, weighed by loops */
    unsigned insts;   /* that this takes at most, in machine code */
    uint64_t freed;   /* places where too many are live in its gaps */
    RangeList live, kept;
    RegId word;       /* that holds it and all members before it */
} Member;

typedef struct Word {
    unsigned size; /* of its fields */
    Member *members[MEMBERS_MOST];
    unsigned count;
    BitSet gaps;   /* by position: where one of its members at least is in no register of its own */
    bool is_chosen;
    uint64_t gain; /* at the time of 'version' */
    unsigned version;
} Word;

typedef VEC(Member) MemberList;
typedef VEC(Word) WordList;

typedef struct Packer {
    Gaps gaps;
    const Dominance *dominance;
    BitSet high; /* by position: too many are live */
    MemberList members; /* by their definitions' positions */
    WordList words;
} Packer;

static unsigned field_size(unsigned bits)
{
    unsigned size = 1;
    while (size < bits)
        size *= 2;
    return size;
}

static bool is_packable(const Packer *packer, RegId value)
{
    Type type = packer->gaps.body->regs.data[value].type;
    unsigned bits = type_bits(type);
    return class_is_integer(type_class(type)) && (bits == 16 || bits == 32 || bits == 64) &&
           gaps_may_leave(&packer->gaps, value);
}

static int compare_members(const void *a, const void *b, void *context)
{
    const Packer *packer = context;
    const Member *x = a, *y = b;
    uint32_t p = places_definition(&packer->gaps.places, &packer->gaps.values->defs[x->value]);
    uint32_t q = places_definition(&packer->gaps.places, &packer->gaps.values->defs[y->value]);
    if (p != q)
        return p < q ? -1 : 1;
    /* A phi comes before the instruction at the top of its block. */
    const Inst *m = packer->gaps.values->defs[x->value].inst, *n = packer->gaps.values->defs[y->value].inst;
    if (!m != !n)
        return m ? 1 : -1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void members_collect(Packer *packer, const uint8_t *bits)
{
    RangeList live = {0}, kept = {0};
    for (size_t v = 0; v < packer->gaps.values->reg_count; v++) {
        RegId value = (RegId)v;
        if (bits[v] > FIELD_MOST || !is_packable(packer, value))
            continue;
        uint64_t cost = gaps_find(&packer->gaps, value, &live, &kept);
        uint64_t freed = cost ? gaps_freed(&packer->gaps, &live, &kept) : 0;
        if (!freed)
            continue;
        VEC_PUSH(packer->gaps.arena, packer->members,
                 ((Member){.value = value, .size = field_size(bits[v]), .cost = cost,
                           .insts = 1 + (bits[v] > 8 ? 1 : 2) * gaps_returns(&packer->gaps, value),
                           .freed = freed, .live = live, .kept = kept}));
        live = kept = (RangeList){0};
    }
    if (packer->members.count)
        qsort_r(packer->members.data, packer->members.count, sizeof *packer->members.data, compare_members,
                packer);
}

/* True if control comes to the definition of 'b' only after that of 'a'. */
static bool is_defined_before(const Packer *packer, const Member *a, const Member *b)
{
    const Values *values = packer->gaps.values;
    return values->defs[a->value].block == values->defs[b->value].block ||
           dominance_has(packer->dominance, values->defs[a->value].block, values->defs[b->value].block);
}

static void gaps_mark(const Member *member, BitSet *set)
{
    bitset_clear(set);
    for (size_t i = 0; i < member->live.count; i++)
        for (uint32_t p = member->live.data[i].from; p < member->live.data[i].to; p++)
            bitset_add(set, p);
    for (size_t i = 0; i < member->kept.count; i++)
        for (uint32_t p = member->kept.data[i].from; p < member->kept.data[i].to; p++)
            bitset_remove(set, p);
}

static void high_update(Packer *packer)
{
    bitset_clear(&packer->high);
    for (uint32_t p = 0; p < packer->gaps.places.total; p++)
        if (packer->gaps.high[p + 1] > packer->gaps.high[p])
            bitset_add(&packer->high, p);
}

/* The places of both sets where too many are live. */
static uint64_t high_in_both(const Packer *packer, const BitSet *a, const BitSet *b)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < (packer->gaps.places.total + 63) / 64; w++)
        sum += (uint64_t)__builtin_popcountll(a->words[w] & b->words[w] & packer->high.words[w]);
    return sum;
}

/* A member that is added to a word frees its register where the word holds another one anyway: at half of the places
 * where it is to be freed, or the word is not the right one. */
static bool word_takes(const Packer *packer, const Word *word, const Member *member, const BitSet *gaps)
{
    return word->size == member->size && word->count * word->size < WORD_BITS &&
           is_defined_before(packer, word->members[word->count - 1], member) &&
           2 * high_in_both(packer, &word->gaps, gaps) >= member->freed;
}

/* The first of the last words that takes the member; NULL: none does. */
static Word *word_for(const Packer *packer, const Member *member, const BitSet *gaps)
{
    size_t count = packer->words.count;
    for (size_t w = count > WORDS_TRIED ? count - WORDS_TRIED : 0; w < count; w++)
        if (word_takes(packer, &packer->words.data[w], member, gaps))
            return &packer->words.data[w];
    return NULL;
}

static void words_fill(Packer *packer)
{
    uint32_t positions = packer->gaps.places.total;
    BitSet gaps = bitset_new(packer->gaps.arena, positions);
    for (size_t m = 0; m < packer->members.count; m++) {
        Member *member = &packer->members.data[m];
        gaps_mark(member, &gaps);
        Word *word = word_for(packer, member, &gaps);
        if (!word && packer->words.count == WORDS_MOST)
            continue;
        if (!word) {
            const Word empty = {.size = member->size, .gaps = bitset_new(packer->gaps.arena, positions)};
            VEC_PUSH(packer->gaps.arena, packer->words, empty);
            word = &packer->words.data[packer->words.count - 1];
        }
        word->members[word->count++] = member;
        for (size_t w = 0; w < (positions + 63) / 64; w++)
            word->gaps.words[w] |= gaps.words[w];
    }
}

static uint64_t word_cost(const Word *word)
{
    uint64_t cost = 0;
    for (unsigned m = 0; m < word->count; m++)
        cost += word->members[m]->cost;
    return cost;
}

/* The places that the word frees where too many are live, for each instruction that it costs, in units of 2^-16. */
static uint64_t word_gain(const Packer *packer, const Word *word)
{
    uint64_t freed = 0, taken = high_in_both(packer, &word->gaps, &word->gaps);
    for (unsigned m = 0; m < word->count; m++)
        freed += gaps_freed(&packer->gaps, &word->members[m]->live, &word->members[m]->kept);
    return freed > taken ? ((freed - taken) << 16) / word_cost(word) : 0;
}

static unsigned word_insts(const Word *word)
{
    unsigned insts = 0;
    for (unsigned m = 0; m < word->count; m++)
        insts += word->members[m]->insts;
    return insts;
}

static void word_press(Packer *packer, const Word *word)
{
    for (unsigned m = 0; m < word->count; m++)
        gaps_leave(&packer->gaps, &word->members[m]->live, &word->members[m]->kept, 1);
    for (uint32_t p = 0; p < packer->gaps.places.total; p++)
        packer->gaps.pressure[p] += bitset_has(&word->gaps, p);
    gaps_update(&packer->gaps);
    high_update(packer);
}

/* The word that frees the most for its cost, with at most 'most_insts' instructions; NULL: nothing more is to be
 * gained. Gains only fall while words are chosen, so only the highest has to be up to date. */
static Word *word_best(Packer *packer, unsigned version, uint64_t most_insts)
{
    for (;;) {
        Word *best = NULL;
        for (size_t w = 0; w < packer->words.count; w++) {
            Word *word = &packer->words.data[w];
            if (word->gain && !word->is_chosen && word_insts(word) <= most_insts &&
                (!best || word->gain > best->gain))
                best = word;
        }
        if (!best || best->version == version)
            return best;
        best->gain = word_gain(packer, best);
        best->version = version;
    }
}

/* Registers for the words that members are added to. */
static void word_registers(Packer *packer, const Word *word)
{
    Body *body = packer->gaps.body;
    for (unsigned m = 0; m < word->count; m++) {
        RegId value = word->members[m]->value;
        bool is_word = !m && type_bits(body->regs.data[value].type) == WORD_BITS;
        word->members[m]->word = is_word ? value : body_add_reg(body, TYPE_B32, body_reg_name(body, value));
    }
}

/* The last member of the word that has been added wherever control comes to the point. */
static unsigned last_before(const Packer *packer, const Word *word, const Point *point)
{
    const Block *block = packer->gaps.body->blocks.data[point->block];
    unsigned last = 0;
    for (unsigned m = 0; m < word->count; m++) {
        const ValueDef *def = &packer->gaps.values->defs[word->members[m]->value];
        uint32_t at = places_definition(&packer->gaps.places, def);
        if (def->block == block ? at < point->position || (!def->inst && at == point->position)
                                : dominance_has(packer->dominance, def->block, block))
            last = m;
        else
            break;
    }
    return last;
}

/* A field of the word that its members up to 'last' have been added to, as a word. */
static RegId field_make(Body *body, const Word *word, unsigned index, unsigned last, const Point *point)
{
    int64_t shift = (int64_t)index * word->size, ones = (INT64_C(1) << word->size) - 1;
    RegId from = word->members[last]->word;
    RegId field = body_add_reg(body, TYPE_B32, body_reg_name(body, word->members[index]->value));
    Inst *inst;
    if (!index)
        inst = inst_build(body, "and.b32", "dri", field, from, ones);
    else if (index == last || shift + word->size == WORD_BITS)
        inst = inst_build(body, "shr.u32", "dri", field, from, shift);
    else if (word->size == 8)
        inst = inst_build(body, "prmt.b32", "drii", field, from, INT64_C(0), 0x4440 + (int64_t)index);
    else
        inst = inst_build(body, "bfe.u32", "drii", field, from, shift, (int64_t)word->size);
    place_inst(body, point, inst);
    return field;
}

/* A member that is taken out. */
typedef struct Taking {
    const Packer *packer;
    const Word *word;
    unsigned index;
} Taking;

static RegId take_out(void *context, RegId value, const Point *point)
{
    const Taking *taking = context;
    Body *body = taking->packer->gaps.body;
    unsigned last = last_before(taking->packer, taking->word, point);
    if (!last)
        return value;
    RegId field = field_make(body, taking->word, taking->index, last, point);
    unsigned bits = type_bits(body->regs.data[value].type);
    if (bits == WORD_BITS)
        return field;
    RegId result = body_clone_reg(body, value);
    place_inst(body, point, inst_build(body, bits == 16 ? "cvt.u16.u32" : "cvt.u64.u32", "dr", result, field));
    return result;
}

/* Appends what adds member number 'index' to the word. */
static unsigned add_make(const Packer *packer, const Word *word, unsigned index, Inst *out[2])
{
    Body *body = packer->gaps.body;
    const Member *member = word->members[index];
    RegId bits = member->value;
    unsigned count = 0, size = type_bits(body->regs.data[bits].type);
    if (size != WORD_BITS) {
        bits = index ? body_add_reg(body, TYPE_B32, body_reg_name(body, member->value)) : member->word;
        out[count++] = inst_build(body, size == 16 ? "cvt.u32.u16" : "cvt.u32.u64", "dr", bits, member->value);
    }
    if (index)
        out[count++] = inst_build(body, "mad.lo.u32", "drir", member->word, bits,
                                  INT64_C(1) << (index * word->size), word->members[index - 1]->word);
    return count;
}

/* Members with one definition are added one after the other. */
static void members_add(const Packer *packer, const Word *word)
{
    const ValueDef *before = NULL;
    Inst *last = NULL;
    for (unsigned m = 0; m < word->count; m++) {
        Inst *insts[2];
        const ValueDef *def = &packer->gaps.values->defs[word->members[m]->value];
        unsigned count = add_make(packer, word, m, insts);
        if (!before || before->block != def->block || before->inst != def->inst)
            last = NULL;
        for (unsigned i = 0; i < count; i++) {
            if (last)
                inst_insert_after(last, insts[i]);
            else
                gaps_insert_after_definition(&packer->gaps, word->members[m]->value, insts[i]);
            last = insts[i];
        }
        before = def;
    }
}

static void word_apply(Packer *packer, const Word *word)
{
    word_registers(packer, word);
    Taking taking = {packer, word, 0};
    /* Members are taken out first, for the uses that there were: adding them to the word makes further uses. */
    for (; taking.index < word->count; taking.index++)
        gaps_close(&packer->gaps, word->members[taking.index]->value, take_out, &taking);
    members_add(packer, word);
}

Packing pack_values(Body *body, Analyses *analyses, const SmLimits *sm, const PackRequest *request)
{
    Arena *arena = arena_new();
    Packer packer = {0};
    Packing packing = {0};
    gaps_start(&packer.gaps, arena, body, analyses, sm, request->limit, 0);
    packer.dominance = analyses_dominance(analyses);
    packer.high = bitset_new(arena, packer.gaps.places.total);
    if (gaps_are_wanted(&packer.gaps)) {
        high_update(&packer);
        members_collect(&packer, significant_bits(arena, packer.gaps.values));
        words_fill(&packer);
    }
    for (size_t w = 0; w < packer.words.count; w++)
        packer.words.data[w].gain = packer.words.data[w].count > 1 ? word_gain(&packer, &packer.words.data[w]) : 0;
    while (gaps_are_wanted(&packer.gaps)) {
        uint64_t left = request->most > packing.insts ? request->most - packing.insts : 0;
        Word *word = word_best(&packer, packing.words, left);
        if (!word)
            break;
        word->is_chosen = true;
        word_press(&packer, word);
        packing.words++;
        packing.insts += word_insts(word);
        packing.values += word->count;
    }
    for (size_t w = 0; w < packer.words.count; w++)
        if (packer.words.data[w].is_chosen)
            word_apply(&packer, &packer.words.data[w]);
    arena_free(arena);
    if (packing.values)
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    return packing;
}

/* If the last candidate, to which at most 'most' instructions were added, is too long, a lower limit to try next; else
 * 0. */
static uint64_t growth_instead(const Search *search, unsigned most)
{
    const uint64_t now = search->current.instructions;
    if (!search_is_too_long(search))
        return 0;
    return most * (search->target.most_instructions - now) / (search->turn.last.instructions - now) * 7 / 8;
}

/* A second form, if the first one is too long. */
bool pass_pack(PassContext *context)
{
    Search *search = context->search;
    bool taken = false;
    const SmLimits *sm = search->passes.sm;
    PackRequest request = {register_room(sm, search->target.registers), search_growth_allowed(search)};
    for (unsigned form = 0; form < 2 && request.most && !search_should_stop(search); form++) {
        Candidate candidate = candidate_new(search);
        Packing packing = pack_values(candidate.body, candidate.analyses, sm, &request);
        const Move move = {MOVE_PACK, packing.values, .words = packing.words};
        taken |= candidate_propose(search, PASS_PACK, &candidate, move);
        request.most = packing.values ? growth_instead(search, packing.insts) : 0;
    }
    return taken;
}
