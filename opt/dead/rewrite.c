/* Keeps the first elements of a buffer in shared memory (dead_buffers.c).
 *
 * An access finds out where its element is by the element's number, counted from the one that thread 0 writes in the
 * filling: from the register that the address is made of, from the low halves of addresses that are close together, or
 * from whole addresses. */
#include "opt/common/beside.h"
#include "opt/common/early.h"
#include "opt/common/ends.h"
#include "opt/dead/internal.h"

enum { ALIGNMENT = 16 };

typedef struct Keeping {
    Dead *d;
    Body *body;
    Block *entry;
    RegId first;       /* the first element's address, 64 bits */
    RegId shared;      /* of the array in shared memory */
    RegId capacity;    /* elements that a block can fill */
    RegId kept;        /* elements that shared memory has: written in several places */
    RegId kept_before; /* the same, before the filling; REG_NONE: nothing between the two reads it */
    unsigned shift;    /* an element has 1 << shift bytes */
} Keeping;

static RegId new_reg(const Keeping *k, Type type, const char *base)
{
    return body_add_reg(k->body, type, intern(k->body->module->names, base));
}

static void put(const Keeping *k, Inst *inst)
{
    inst_append(k->entry, inst);
}

/* The register's value in thread 0, computed in the entry. */
static RegId value_in_first(const Keeping *k, RegId reg)
{
    const EarlyPlace place = {.scratch = k->d->scratch, .body = k->body, .at = k->entry, .values = k->d->values,
                              .is_first = true};
    return value_hoist(&place, reg);
}

/* The address of the element that thread 0 writes in the filling. */
static void find_first(Keeping *k)
{
    const Inst *store = k->d->filling.store;
    Access access;
    require(inst_access(store, &access));
    const int64_t offset = address_offset(access.address);
    k->first = value_in_first(k, address_base(store, access.address));
    if (offset) {
        const RegId sum = new_reg(k, TYPE_B64, "%kept_first");
        put(k, inst_build(k->body, "add.s64", "dri", sum, k->first, offset));
        k->first = sum;
    }
}

/* Everything that is computed where the kernel begins. */
static void begin(Keeping *k)
{
    const uint64_t bytes = (uint64_t)k->d->elements << k->shift;
    const Variable *array = body_add_array(k->body, "ptxopt_kept", SPACE_SHARED, bytes, ALIGNMENT);
    const RegId threads = new_reg(k, TYPE_B32, "%kept_threads");
    k->shared = new_reg(k, TYPE_B32, "%kept_at");
    k->capacity = new_reg(k, TYPE_B32, "%kept_most");
    k->kept = new_reg(k, TYPE_B32, "%kept");
    put(k, inst_build(k->body, "mov.u32", "dv", k->shared, array));
    put(k, inst_build(k->body, "mov.u32", "ds", threads, "%ntid.x"));
    put(k, inst_build(k->body, "min.u32", "dri", k->capacity, threads, (int64_t)k->d->elements));
    put(k, inst_build(k->body, "mov.u32", "di", k->kept, (int64_t)0));
    find_first(k);
}

/* A 64-bit register with the 32-bit one extended. */
static RegId extend(const Keeping *k, Inst *at, RegId narrow, bool is_signed)
{
    const RegId wide = new_reg(k, TYPE_B64, "%kept_wide");
    inst_insert_before(at, inst_build(k->body, is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", wide, narrow));
    return wide;
}

/* How many threads a bound of %tid.x itself admits, at most 'most'. */
static RegId threads_below(const Keeping *k, const FillBound *bound, RegId most)
{
    Inst *at = k->d->filling.before;
    const RegId result = new_reg(k, TYPE_B32, "%kept_next");
    RegId end = bound->bound;
    if (end == REG_NONE) {
        end = new_reg(k, TYPE_B32, "%kept_end");
        inst_insert_before(at, inst_build(k->body, "mov.b32", "di", end, bound->constant));
    }
    if (bound->is_signed) {
        const RegId positive = new_reg(k, TYPE_B32, "%kept_end");
        inst_insert_before(at, inst_build(k->body, "max.s32", "dri", positive, end, (int64_t)0));
        end = positive;
    }
    inst_insert_before(at, inst_build(k->body, "min.u32", "drr", result, end, most));
    return result;
}

/* How many threads, from thread 0 on, the bound admits, at most 'most': if the index of thread 0 is below it, so are
 * those of all these threads, without wrapping. */
static RegId admitted(const Keeping *k, const FillBound *bound, RegId most)
{
    Inst *at = k->d->filling.before;
    if (bound->is_thread)
        return threads_below(k, bound, most);
    const RegId index = extend(k, at, value_in_first(k, bound->index), bound->is_signed);
    const RegId distance = new_reg(k, TYPE_B64, "%kept_wide"), positive = new_reg(k, TYPE_B64, "%kept_wide");
    const RegId least = new_reg(k, TYPE_B64, "%kept_wide"), result = new_reg(k, TYPE_B32, "%kept_next");
    RegId end = new_reg(k, TYPE_B64, "%kept_wide");
    if (bound->bound == REG_NONE)
        inst_insert_before(at, inst_build(k->body, "mov.b64", "di", end, bound->constant));
    else
        end = extend(k, at, bound->bound, bound->is_signed);
    inst_insert_before(at, inst_build(k->body, "sub.s64", "drr", distance, end, index));
    inst_insert_before(at, inst_build(k->body, "max.s64", "dri", positive, distance, (int64_t)0));
    const RegId limit = extend(k, at, most, false);
    inst_insert_before(at, inst_build(k->body, "min.s64", "drr", least, positive, limit));
    inst_insert_before(at, inst_build(k->body, "cvt.u32.u64", "dr", result, least));
    return result;
}

/* Before the filling: 'kept' becomes what the filling writes if it is 0. */
static void fill(Keeping *k)
{
    const Filling *filling = &k->d->filling;
    Inst *at = filling->before;
    const RegId is_none = new_reg(k, TYPE_PRED, "%kept_none"), next = new_reg(k, TYPE_B32, "%kept_next");
    RegId fresh = k->capacity;
    for (unsigned b = 0; b < filling->bound_count; b++)
        fresh = admitted(k, &filling->bounds[b], fresh);
    if (at != filling->store) {
        k->kept_before = new_reg(k, TYPE_B32, "%kept_before");
        inst_insert_before(at, inst_build(k->body, "mov.u32", "dr", k->kept_before, k->kept));
    }
    inst_insert_before(at, inst_build(k->body, "setp.eq.u32", "dri", is_none, k->kept, (int64_t)0));
    inst_insert_before(at, inst_build(k->body, "selp.b32", "drrr", next, fresh, k->kept, is_none));
    inst_insert_before(at, inst_build(k->body, "mov.u32", "dr", k->kept, next));
}

/* Whether the threads that are going to execute the filling execute the access before it. */
static bool is_before_filling(const Keeping *k, const Inst *inst)
{
    while (inst->next && k->kept_before != REG_NONE) {
        inst = inst->next;
        if (inst == k->d->filling.store)
            return true;
    }
    return false;
}

/* The element of an access in shared memory, if it is there. */
typedef struct Element {
    RegId is_kept;    /* a predicate */
    RegId is_other;   /* another, for global memory; REG_NONE: the opposite of the first */
    RegId place;      /* its address, 32 bits */
} Element;

static RegId compare(const Keeping *k, Inst *inst, const char *spelling, RegId number, RegId kept)
{
    const RegId result = new_reg(k, TYPE_PRED, "%kept_here");
    return access_insert_test(k->body, inst, inst_build(k->body, spelling, "drr", result, number, kept));
}

/* Decides by the element's number. */
static void decide(const Keeping *k, Inst *inst, bool is_wide, RegId number, RegId kept, Element *out)
{
    out->is_kept = compare(k, inst, is_wide ? "setp.lt.u64" : "setp.lt.u32", number, kept);
    out->is_other = inst_is_guarded(inst)
                        ? compare(k, inst, is_wide ? "setp.ge.u64" : "setp.ge.u32", number, kept)
                        : REG_NONE;
}

static Element element_by_number(const Keeping *k, const DeadAccess *access, RegId kept)
{
    Element element = {.place = new_reg(k, TYPE_B32, "%kept_place")};
    RegId number = access->index;
    if (access->way == ELEMENT_THREAD) {
        number = new_reg(k, TYPE_B32, "%kept_number");
        access_insert(k->body, access->inst, inst_build(k->body, "mov.u32", "ds", number, "%tid.x"));
    }
    if (access->offset) {
        const RegId thread = number;
        number = new_reg(k, TYPE_B32, "%kept_number");
        access_insert(k->body, access->inst, inst_build(k->body, "add.s32", "dri", number, thread, access->offset));
    }
    access_insert(k->body, access->inst,
                  inst_build(k->body, "mad.lo.u32", "drir", element.place, number, INT64_C(1) << k->shift, k->shared));
    decide(k, access->inst, false, number, kept, &element);
    return element;
}

/* The element by the low halves of its address and the first one's, which are less than 4 GiB apart. */
static Element element_near(const Keeping *k, const DeadAccess *access, RegId kept)
{
    Inst *inst = access->inst;
    const RegId address = access_whole_address(k->body, inst, &access->access, "%kept_address");
    const RegId low = new_reg(k, TYPE_B32, "%kept_low"), first = new_reg(k, TYPE_B32, "%kept_low");
    const RegId bytes = new_reg(k, TYPE_B32, "%kept_low"), number = new_reg(k, TYPE_B32, "%kept_number");
    Element element = {.place = new_reg(k, TYPE_B32, "%kept_place")};
    access_insert(k->body, inst, inst_build(k->body, "cvt.u32.u64", "dr", low, address));
    access_insert(k->body, inst, inst_build(k->body, "cvt.u32.u64", "dr", first, k->first));
    access_insert(k->body, inst, inst_build(k->body, "sub.u32", "drr", bytes, low, first));
    access_insert(k->body, inst, inst_build(k->body, "shr.u32", "dri", number, bytes, (int64_t)k->shift));
    access_insert(k->body, inst, inst_build(k->body, "add.u32", "drr", element.place, bytes, k->shared));
    decide(k, inst, false, number, kept, &element);
    return element;
}

static Element element_anywhere(const Keeping *k, const DeadAccess *access, RegId kept)
{
    Inst *inst = access->inst;
    const RegId address = access_whole_address(k->body, inst, &access->access, "%kept_address");
    const RegId bytes = new_reg(k, TYPE_B64, "%kept_wide"), number = new_reg(k, TYPE_B64, "%kept_wide");
    const RegId low = new_reg(k, TYPE_B32, "%kept_low"), limit = new_reg(k, TYPE_B64, "%kept_wide");
    Element element = {.place = new_reg(k, TYPE_B32, "%kept_place")};
    access_insert(k->body, inst, inst_build(k->body, "sub.s64", "drr", bytes, address, k->first));
    access_insert(k->body, inst, inst_build(k->body, "shr.u64", "dri", number, bytes, (int64_t)k->shift));
    access_insert(k->body, inst, inst_build(k->body, "cvt.u64.u32", "dr", limit, kept));
    access_insert(k->body, inst, inst_build(k->body, "cvt.u32.u64", "dr", low, bytes));
    access_insert(k->body, inst, inst_build(k->body, "add.u32", "drr", element.place, low, k->shared));
    decide(k, inst, true, number, limit, &element);
    return element;
}

static Element find_element(const Keeping *k, const DeadAccess *access)
{
    const RegId kept = is_before_filling(k, access->inst) ? k->kept_before : k->kept;
    switch (access->way) {
    case ELEMENT_THREAD:
    case ELEMENT_INDEX: return element_by_number(k, access, kept);
    case ELEMENT_NEAR: return element_near(k, access, kept);
    case ELEMENT_ANYWHERE: break;
    }
    return element_anywhere(k, access, kept);
}

/* The old value that a guarded load keeps; REG_NONE: it has none. */
static RegId kept_value(const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].role == REF_TIED)
            return inst->refs[r].reg;
    return REG_NONE;
}

/* Leaves elements that are not kept to the access, and adds one to shared memory after it, whose old value is what the
 * first has loaded. */
static void convert(const Keeping *k, const DeadAccess *access)
{
    Inst *inst = access->inst;
    const bool is_store = access->access.kind == ACCESS_STORE;
    const Element element = find_element(k, access);
    const RegId data = operand_plain_reg(inst, &inst->operands[is_store]), old = kept_value(inst);
    const char *spelling = arena_printf(k->d->scratch, "%s.shared.%s", is_store ? "st" : "ld",
                                        type_name(inst->signature->types[0]));
    const RegId loaded = is_store ? REG_NONE : body_clone_reg(k->body, data);
    Inst *own = is_store ? inst_build(k->body, spelling, "ar", element.place, (int64_t)0, data)
                         : inst_build(k->body, spelling, "da", data, element.place, (int64_t)0);
    own->span = inst->span;
    own->loc = inst->loc;
    if (inst_is_guarded(inst))
        require(inst_unguard(inst));
    if (!is_store)
        inst->refs[inst->operands[0].ref].reg = loaded;
    inst_guard(k->body, inst, element.is_other == REG_NONE ? element.is_kept : element.is_other,
               element.is_other == REG_NONE, old);
    inst_insert_after(inst, own);
    inst_guard(k->body, own, element.is_kept, false, loaded);
}

void dead_rewrite(Dead *d)
{
    Keeping k = {.d = d, .body = d->body, .kept_before = REG_NONE};
    while (1u << k.shift < d->accesses.data[0].access.bytes)
        k.shift++;
    k.entry = body_add_entry(d->body);
    begin(&k);
    fill(&k);
    for (size_t i = 0; i < d->accesses.count; i++)
        convert(&k, &d->accesses.data[i]);
    body_renumber(d->body);
    body_update_preds(d->body);
    body_split_variable(d->body, k.kept);
}
