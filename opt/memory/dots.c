/* Dot products of bytes from whole words.
 *
 *     sum += a.b0 * b.b0                                dp4a sum, a, b, sum
 *     sum += a.b1 * b.b1                            ->
 *     sum += a.b2 * b.b2; sum += a.b3 * b.b3
 *
 * Once neighbouring bytes are loaded as words, compilers' code takes these apart and, for dp4a, puts bytes of four
 * rounds together again:
 *
 *     prmt t, b0, b1, ..    prmt u, b2, b3, ..    prmt w, t, u, ..
 *
 * The pass knows which byte of which word each byte is (bytes.h). Four products of a sum, one after the other, become a
 * dp4a if four factors are the bytes of one word: integers may be added in any order. dp4a adds the products of bytes
 * at equal places, in whichever order these are. So the bytes of a factor that is one word stay where they are, and the
 * other factor is put together in the same order, by three permutations at most; four words are transposed by eight,
 * because a permutation of bytes of two of them also gives what the neighbouring column needs. Permutations that
 * nothing reads any more are left to the clean-up. Others take bytes right from the words, where these are two at most.
 *
 * A value that is taken off all bytes of a factor, the zero point of quantized numbers, is multiplied with the sum of
 * the other factor's bytes, which merged threads have in common:
 *
 *     sum += (a.b0 - z) * b.b0 + ..             ->      sum += a.b0 * b.b0 + .. - z * (b.b0 + ..), modulo 2^32
 *
 * Requires and keeps SSA form; blocks and edges stay. O(I), and for each block O(P^2) for its P permutations. */
#include "opt/memory/bytes.h"
#include "opt/passes.h"
#include "target/target.h"

#include <string.h>

enum { LEAST_VERSION = 50, LEAST_ARCH = 61, SELECT_SIGN = 8 };

/* A permutation whose result is in a register. */
typedef struct Permutation {
    RegId first, second, result; /* 'second' REG_NONE: zeros */
    int64_t select;
} Permutation;

/* A value that is added to a byte before it is multiplied: a number, less a register. */
typedef struct Shift {
    int64_t number;
    RegId less; /* REG_NONE: none */
} Shift;

/* A sum that an instruction adds a product of two bytes to. */
typedef struct Product {
    Inst *inst;
    Byte factors[2];
    bool is_signed[2];
    Shift shifts[2];
    RegId addend;
    size_t before;       /* the product that 'addend' is the sum of, plus 1; 0: it is none, or has other uses */
    bool is_continued;
} Product;

/* Four products that become one instruction, in the place of the last. */
typedef struct Group {
    Inst *last;
    Byte factors[2][WORD_BYTES];
    bool is_signed[2];
    Shift shifts[2]; /* of all bytes of a factor; of one factor at most */
    RegId addend;
    size_t before;    /* the group whose sum it adds to and whose shift is added with its own, plus 1; 0: none */
    bool is_deferred; /* its shift is added later */
    RegId bytes;      /* the sum of the bytes that shifts are multiplied by, of those before, too */
} Group;

typedef struct Dots {
    Arena *scratch;
    Body *body;
    const Values *values;
    Bytes bytes;
    VEC(Permutation) permutations; /* of the block, before the instruction at hand */
    VEC(Product) products;         /* of the block */
    VEC(Group) groups;             /* of the block, in the order of its instructions */
    unsigned changed;
} Dots;

static bool is_word(const Dots *dots, RegId reg)
{
    const Type type = dots->body->regs.data[reg].type;
    return type_bits(type) == 32 && type_class(type) != CLASS_FLOAT;
}

/* The bytes, in order, are those of a register. */
static bool is_whole(const Byte bytes[WORD_BYTES])
{
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (bytes[i].reg == REG_NONE || bytes[i].reg != bytes[0].reg || bytes[i].place != i || bytes[i].is_sign)
            return false;
    return true;
}

/* The same in any order. */
static bool is_permuted_word(const Byte bytes[WORD_BYTES])
{
    unsigned seen = 0;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        if (bytes[i].reg == REG_NONE || bytes[i].reg != bytes[0].reg || bytes[i].is_sign)
            return false;
        seen |= 1u << bytes[i].place;
    }
    return seen == (1u << WORD_BYTES) - 1;
}

/* The registers that the bytes are of, with REG_NONE for zeros, a register first; 0 if there are more than two. */
static unsigned sources_find(const Byte bytes[WORD_BYTES], RegId sources[2])
{
    unsigned count = 0;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        bool seen = false;
        for (unsigned k = 0; k < count; k++)
            seen |= sources[k] == bytes[i].reg;
        if (!seen && count == 2)
            return 0;
        if (!seen)
            sources[count++] = bytes[i].reg;
    }
    if (count == 2 && sources[0] == REG_NONE) {
        sources[0] = sources[1];
        sources[1] = REG_NONE;
    }
    return count;
}

static Permutation permutation_of(const Byte bytes[WORD_BYTES], const RegId sources[2], unsigned count)
{
    Permutation p = {.first = sources[0], .second = count > 1 ? sources[1] : REG_NONE, .result = REG_NONE};
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        const Byte *byte = &bytes[i];
        const unsigned chosen = byte->reg == p.first ? byte->place : byte->reg == REG_NONE ? 4 : 4 + byte->place;
        p.select |= (int64_t)(chosen | (byte->is_sign ? SELECT_SIGN : 0)) << (4 * i);
    }
    return p;
}

static Inst *permutation_build(const Dots *dots, const Permutation *p)
{
    if (p->second == REG_NONE)
        return inst_build(dots->body, "prmt.b32", "drii", p->result, p->first, (int64_t)0, p->select);
    return inst_build(dots->body, "prmt.b32", "drri", p->result, p->first, p->second, p->select);
}

/* The register with the permutation's result, which is computed before 'position' unless it has been in this block. */
static RegId permute(Dots *dots, Permutation p, Inst *position)
{
    for (size_t i = 0; i < dots->permutations.count; i++) {
        const Permutation *other = &dots->permutations.data[i];
        if (other->first == p.first && other->second == p.second && other->select == p.select)
            return other->result;
    }
    p.result = body_add_reg(dots->body, TYPE_B32, intern(dots->body->module->names, "%bytes"));
    inst_insert_before(position, permutation_build(dots, &p));
    VEC_PUSH(dots->scratch, dots->permutations, p);
    return p.result;
}

/* Makes two neighbouring bytes of a word that is wanted bytes of one register. The permutation for a byte of an odd
 * place is that for the place before it, whose two other bytes these are. */
static void pair_up(Dots *dots, Byte pair[2], Inst *position)
{
    if (pair[0].reg == pair[1].reg)
        return;
    const unsigned odd = pair[0].place & 1;
    const bool is_plain = pair[0].reg != REG_NONE && pair[1].reg != REG_NONE && !pair[0].is_sign && !pair[1].is_sign;
    Byte bytes[WORD_BYTES] = {pair[0], pair[1], pair[0], pair[1]};
    RegId sources[2];
    if (is_plain)
        for (unsigned i = 0; i < WORD_BYTES; i++)
            bytes[i].place ^= odd ^ (i >= 2);
    const Permutation p = permutation_of(bytes, sources, sources_find(bytes, sources));
    const RegId both = permute(dots, p, position);
    for (unsigned i = 0; i < 2; i++)
        pair[i] = (Byte){both, (uint8_t)((is_plain ? 2 * odd : 0) + i), false};
}

/* Whether these are all bytes of the register that the first one is of. */
static bool are_as_loaded(const Dots *dots, const Byte bytes[WORD_BYTES])
{
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (bytes[0].reg == REG_NONE || !byte_equal(bytes[i], byte_of(&dots->bytes, bytes[0].reg, i)))
            return false;
    return true;
}

/* A register with these bytes, of which one is not zero. */
static RegId word_build(Dots *dots, const Byte wanted[WORD_BYTES], Inst *position)
{
    Byte bytes[WORD_BYTES] = {wanted[0], wanted[1], wanted[2], wanted[3]};
    RegId sources[2];
    unsigned count = sources_find(bytes, sources);
    if (are_as_loaded(dots, bytes))
        return bytes[0].reg;
    if (!count) {
        pair_up(dots, &bytes[0], position);
        pair_up(dots, &bytes[2], position);
        count = sources_find(bytes, sources);
    }
    return permute(dots, permutation_of(bytes, sources, count), position);
}

/* Puts the products in the order of the bytes of a factor that is one word, if there is one. */
static void put_in_order(Byte factors[2][WORD_BYTES])
{
    Byte ordered[2][WORD_BYTES];
    if (is_whole(factors[0]) || is_whole(factors[1]))
        return;
    const unsigned leading = !is_permuted_word(factors[0]);
    if (!is_permuted_word(factors[leading]))
        return;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        for (unsigned f = 0; f < 2; f++)
            ordered[f][factors[leading][i].place] = factors[f][i];
    memcpy(factors, ordered, sizeof ordered);
}

/* All of them are zeros or of registers that a permutation can read, but not all are zeros. */
static bool can_build(const Dots *dots, const Byte bytes[WORD_BYTES])
{
    bool is_zero = true;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        if (bytes[i].reg != REG_NONE && !is_word(dots, bytes[i].reg))
            return false;
        is_zero &= bytes[i].reg == REG_NONE;
    }
    return !is_zero;
}

static void product_rewrite(Dots *dots, Inst *inst)
{
    Byte factors[2][WORD_BYTES];
    for (unsigned f = 0; f < 2; f++) {
        const RegId reg = inst_reg(inst, 1 + f);
        if (reg == REG_NONE)
            return;
        for (unsigned i = 0; i < WORD_BYTES; i++)
            factors[f][i] = byte_of(&dots->bytes, reg, i);
        if (!can_build(dots, factors[f]))
            return;
    }
    put_in_order(factors);
    for (unsigned f = 0; f < 2; f++) {
        RegRef *ref = operand_ref(inst, &inst->operands[1 + f]);
        const RegId word = word_build(dots, factors[f], inst);
        dots->changed += ref->reg != word;
        ref->reg = word;
    }
}

static bool is_shifted(const Shift *shift)
{
    return shift->number || shift->less != REG_NONE;
}

static bool shift_equal(const Shift *a, const Shift *b)
{
    return a->number == b->number && a->less == b->less;
}

/* Adds the instruction in the place of the group's last. */
static void group_put(const Group *group, Inst *inst)
{
    inst->loc = group->last->loc;
    inst->span = group->last->span;
    inst->replica = group->last->replica;
    inst_insert_before(group->last, inst);
}

static const Shift *group_shift(const Group *group)
{
    return &group->shifts[is_shifted(&group->shifts[1])];
}

static RegId group_reg(const Dots *dots, const char *base)
{
    return body_add_reg(dots->body, TYPE_B32, intern(dots->body->module->names, base));
}

/* Adds up the bytes of the factor that is not shifted, a word. */
static void bytes_build(Dots *dots, Group *group, RegId word, bool is_signed)
{
    RegId ones = group_reg(dots, "%ones"), before = group_reg(dots, "%zero");
    group->bytes = group_reg(dots, "%bytes");
    group_put(group, inst_build(dots->body, "mov.b32", "di", ones, INT64_C(0x01010101)));
    if (group->before)
        before = dots->groups.data[group->before - 1].bytes;
    else
        group_put(group, inst_build(dots->body, "mov.b32", "di", before, (int64_t)0));
    group_put(group, inst_build(dots->body, is_signed ? "dp4a.s32.u32" : "dp4a.u32.u32", "drrr", group->bytes, word,
                                ones, before));
}

/* Adds the shift times the sum of the bytes. */
static void shift_build(Dots *dots, const Group *group, RegId sum)
{
    const Shift *shift = group_shift(group);
    RegId by = group_reg(dots, "%shift");
    if (shift->less != REG_NONE)
        group_put(group, inst_build(dots->body, "sub.s32", "dir", by, shift->number, shift->less));
    else
        group_put(group, inst_build(dots->body, "mov.b32", "di", by, shift->number));
    group_put(group, inst_build(dots->body, "mad.lo.s32", "drrr", inst_result(group->last), group->bytes, by, sum));
}

static void group_build(Dots *dots, Group *group)
{
    static const char *const spellings[2][2] = {{"dp4a.u32.u32", "dp4a.u32.s32"}, {"dp4a.s32.u32", "dp4a.s32.s32"}};
    put_in_order(group->factors);
    const char *spelling = spellings[group->is_signed[0]][group->is_signed[1]];
    RegId words[2], sum = inst_result(group->last);
    const bool shifts = is_shifted(group_shift(group)), ends = shifts && !group->is_deferred;
    const unsigned other = !is_shifted(&group->shifts[1]);
    for (unsigned f = 0; f < 2; f++)
        words[f] = word_build(dots, group->factors[f], group->last);
    if (shifts)
        bytes_build(dots, group, words[other], group->is_signed[other]);
    if (ends)
        sum = body_clone_reg(dots->body, sum);
    group_put(group, inst_build(dots->body, spelling, "drrr", sum, words[0], words[1], group->addend));
    if (ends)
        shift_build(dots, group, sum);
    inst_remove(group->last);
    dots->changed++;
}

/* The operand is one byte, extended. */
static bool factor_find(const Dots *dots, const ComputeSource *source, Byte *byte, bool *is_signed)
{
    Byte high;
    if (source->is_constant || !byte_of_source(&dots->bytes, source, 0, byte) || byte->reg == REG_NONE || byte->is_sign)
        return false;
    Byte sign = *byte;
    sign.is_sign = true;
    for (unsigned i = 1; i < WORD_BYTES; i++) {
        if (!byte_of_source(&dots->bytes, source, i, &high) ||
            (i > 1 && (high.reg != REG_NONE) != *is_signed) || (high.reg != REG_NONE && !byte_equal(high, sign)))
            return false;
        *is_signed = high.reg != REG_NONE;
    }
    return true;
}

/* The operand is one byte, extended, with a number or less a register. */
static bool shifted_find(const Dots *dots, const ComputeSource *source, Product *product, unsigned f)
{
    Computation c;
    const Inst *inst = source->reg < dots->values->reg_count ? value_inst(dots->values, source->reg) : NULL;
    const bool is_less = computation_matches(dots->body, inst, COMPUTE_SUB, 32, "rr", &c);
    if ((!is_less && !computation_matches(dots->body, inst, COMPUTE_ADD, 32, "ri", &c)) || c.saturates)
        return false;
    product->shifts[f] = is_less ? (Shift){0, c.sources[1].reg} : (Shift){(int32_t)c.sources[1].constant, REG_NONE};
    return is_word(dots, c.sources[0].reg) && (!is_less || is_word(dots, c.sources[1].reg)) &&
           factor_find(dots, &c.sources[0], &product->factors[f], &product->is_signed[f]);
}

static bool factors_find(const Dots *dots, const Computation *c, Product *product)
{
    for (unsigned f = 0; f < 2; f++) {
        product->shifts[f] = (Shift){0, REG_NONE};
        if (!factor_find(dots, &c->sources[f], &product->factors[f], &product->is_signed[f]) &&
            !shifted_find(dots, &c->sources[f], product, f))
            return false;
    }
    return !is_shifted(&product->shifts[0]) || !is_shifted(&product->shifts[1]);
}

/* a * b + addend, or a * b, used only here, and an addition. */
static bool product_find(const Dots *dots, Inst *inst, Product *product)
{
    Computation c, factors;
    *product = (Product){.inst = inst};
    if (computation_matches(dots->body, inst, COMPUTE_MAD, 32, "rrr", &c) && !c.saturates) {
        product->addend = c.sources[2].reg;
        return factors_find(dots, &c, product);
    }
    if (!computation_matches(dots->body, inst, COMPUTE_ADD, 32, "rr", &c) || c.saturates)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const RegId reg = c.sources[i].reg;
        product->addend = c.sources[!i].reg;
        if (reg < dots->values->reg_count && value_use_count(dots->values, reg) == 1 &&
            computation_matches(dots->body, value_inst(dots->values, reg), COMPUTE_MUL, 32, "rr", &factors) &&
            factors_find(dots, &factors, product))
            return true;
    }
    return false;
}

/* Adds a product to the group; its factors change places if then one of them stays in the word of those before. */
static bool group_add(Group *group, unsigned index, const Product *product)
{
    const RegId word = index ? group->factors[0][index - 1].reg : product->factors[0].reg;
    const bool swaps = product->factors[0].reg != word &&
                       (product->factors[1].reg == word ||
                        product->factors[0].reg == group->factors[1][index ? index - 1 : 0].reg);
    for (unsigned f = 0; f < 2; f++) {
        const unsigned from = f ^ swaps;
        if (index && (product->is_signed[from] != group->is_signed[f] ||
                      !shift_equal(&product->shifts[from], &group->shifts[f])))
            return false;
        group->factors[f][index] = product->factors[from];
        group->is_signed[f] = product->is_signed[from];
        group->shifts[f] = product->shifts[from];
    }
    return true;
}

/* Four products, the last of which is given, of which each adds to the one before. */
static bool group_find(const Dots *dots, const size_t chain[WORD_BYTES], Group *group)
{
    *group = (Group){.last = dots->products.data[chain[WORD_BYTES - 1]].inst,
                     .addend = dots->products.data[chain[0]].addend};
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (!group_add(group, i, &dots->products.data[chain[i]]))
            return false;
    return can_build(dots, group->factors[0]) && can_build(dots, group->factors[1]) &&
           (is_permuted_word(group->factors[0]) || is_permuted_word(group->factors[1]));
}

/* Adds the group; 'follows': the last one is of the same sum, and nothing else reads that. Shifts are then added
 * once. */
static void groups_add(Dots *dots, Group *group, bool follows)
{
    Group *before = follows ? &VEC_LAST(dots->groups) : NULL;
    if (before && is_shifted(group_shift(group)) && shift_equal(group_shift(before), group_shift(group))) {
        before->is_deferred = true;
        group->before = dots->groups.count;
    }
    VEC_PUSH(dots->scratch, dots->groups, *group);
}

/* Finds the groups of the sum that ends with the product 'last'. */
static void chain_split(Dots *dots, size_t last)
{
    bool follows = false;
    VEC(size_t) chain = {0};
    Group group;
    for (size_t i = last + 1; i; i = dots->products.data[i - 1].before)
        VEC_PUSH(dots->scratch, chain, i - 1);
    for (size_t i = 0; i < chain.count / 2; i++) {
        const size_t swapped = chain.data[i];
        chain.data[i] = chain.data[chain.count - 1 - i];
        chain.data[chain.count - 1 - i] = swapped;
    }
    for (size_t i = 0; i + WORD_BYTES <= chain.count;) {
        const bool found = group_find(dots, &chain.data[i], &group);
        if (found)
            groups_add(dots, &group, follows);
        follows |= found;
        i += found ? WORD_BYTES : 1;
    }
}

/* Finds sums of products in the block; a product adds to one before it that nothing else reads. */
static void products_find(Dots *dots, const Block *block, size_t *product_of)
{
    Product product;
    dots->products.count = dots->groups.count = 0;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        if (!inst_is_plain(inst) || !product_find(dots, inst, &product))
            continue;
        const RegId addend = product.addend, result = inst_result(inst);
        if (value_use_count(dots->values, addend) == 1 && product_of[addend]) {
            product.before = product_of[addend];
            dots->products.data[product.before - 1].is_continued = true;
        }
        VEC_PUSH(dots->scratch, dots->products, product);
        product_of[result] = dots->products.count;
    }
    for (size_t i = 0; i < dots->products.count; i++) {
        product_of[inst_result(dots->products.data[i].inst)] = 0;
        if (!dots->products.data[i].is_continued)
            chain_split(dots, i);
    }
}

static Group *group_of(const Dots *dots, const Inst *inst)
{
    for (size_t i = 0; i < dots->groups.count; i++)
        if (dots->groups.data[i].last == inst)
            return &dots->groups.data[i];
    return NULL;
}

/* The permutation takes its bytes from the words that they come from, if these are two at most, and is then known. */
static void permutation_rewrite(Dots *dots, Inst *inst)
{
    Computation c;
    Byte bytes[WORD_BYTES];
    RegId sources[2];
    if (!inst_is_plain(inst) || !computation_of(dots->body, inst, &c) || c.op != COMPUTE_PERMUTE)
        return;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        bytes[i] = byte_of(&dots->bytes, c.result, i);
    const unsigned count = sources_find(bytes, sources);
    if (!count || !can_build(dots, bytes) || bytes[0].reg == c.result)
        return;
    Permutation p = permutation_of(bytes, sources, count);
    p.result = c.result;
    VEC_PUSH(dots->scratch, dots->permutations, p);
    if ((c.sources[0].reg == p.first || c.sources[0].reg == p.second) &&
        (c.sources[1].is_constant || c.sources[1].reg == p.first || c.sources[1].reg == p.second))
        return;
    inst_insert_before(inst, permutation_build(dots, &p));
    inst_remove(inst);
    dots->changed++;
}

static void block_rewrite(Dots *dots, Block *block)
{
    dots->permutations.count = 0;
    for (Inst *inst = block->first, *next; inst; inst = next) {
        next = inst->next;
        Group *group = group_of(dots, inst);
        if (group)
            group_build(dots, group);
        else if (!inst_is_opaque(inst) && inst_op(inst) == OP_DP4A)
            product_rewrite(dots, inst);
        else
            permutation_rewrite(dots, inst);
    }
}

static bool has_dots(const Module *module)
{
    Arch arch;
    return module->version >= LEAST_VERSION && module->target_count && arch_parse(module->targets[0], &arch) &&
           arch.number >= LEAST_ARCH;
}

bool pass_dots(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    const bool finds_sums = has_dots(body->module);
    Dots dots = {.scratch = scratch,
                 .body = body,
                 .values = analyses_values(context->analyses),
                 .bytes = bytes_compute(scratch, body)};
    size_t *product_of = ARENA_ARRAY(scratch, size_t, body->regs.count);
    for (size_t b = 0; b < body->blocks.count; b++) {
        if (finds_sums)
            products_find(&dots, body->blocks.data[b], product_of);
        block_rewrite(&dots, body->blocks.data[b]);
    }
    arena_free(scratch);
    return dots.changed > 0;
}
