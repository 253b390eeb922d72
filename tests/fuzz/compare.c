/* Compares two modules, ignoring places in the text. */
#include <string.h>

#include "fuzz.h"

typedef struct Comparison {
    Arena *arena;
    const Function *function; /* the current one, for the message; NULL: none */
    const char *difference;   /* the first one; NULL: none */
} Comparison;

static bool differs(Comparison *comparison, const char *format, ...) PRINTF_LIKE(2, 3);
static bool differs(Comparison *comparison, const char *format, ...)
{
    if (comparison->difference)
        return true;
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    if (comparison->function)
        buf_printf(&text, " (in %s)", comparison->function->name);
    comparison->difference = arena_strndup(comparison->arena, buf_text(&text), text.length);
    buf_free(&text);
    return true;
}

/* Each check returns true if the two differ, after describing the difference. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return differs(comparison, __VA_ARGS__);                                                                   \
    } while (0)

static bool same_name(Name a, Name b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *shown(Name name)
{
    return name ? name : "nothing";
}

static bool constants_differ(Comparison *comparison, const Constant *a, const Constant *b)
{
    CHECK(!a == !b, "a constant is gone or new");
    if (!a)
        return false;
    CHECK(a->kind == b->kind && a->bits == b->bits && a->is_unsigned == b->is_unsigned,
          "constant '%s' (0x%llx) became '%s' (0x%llx)", shown(a->spelling), (unsigned long long)a->bits,
          shown(b->spelling), (unsigned long long)b->bits);
    return false;
}

static bool symbols_differ(Comparison *comparison, const Symbol *a, const Symbol *b)
{
    CHECK(a->kind == b->kind && same_name(symbol_name(a), symbol_name(b)), "symbol %s became %s",
          shown(symbol_name(a)), shown(symbol_name(b)));
    return false;
}

static bool inits_differ(Comparison *comparison, const Variable *a, const Variable *b)
{
    CHECK(a->init_count == b->init_count, "%s has %u initial values instead of %u", shown(a->name), b->init_count,
          a->init_count);
    for (unsigned i = 0; i < a->init_count; i++) {
        const Init *x = &a->inits[i], *y = &b->inits[i];
        CHECK(x->kind == y->kind && x->generic == y->generic && x->masked == y->masked &&
                  (!x->masked || x->mask_byte == y->mask_byte),
              "initial value %u of %s", i, shown(a->name));
        if (x->kind == INIT_SYMBOL && symbols_differ(comparison, &x->symbol, &y->symbol))
            return true;
        CHECK(x->kind != INIT_FIELD || (same_name(x->field, y->field) && same_name(x->word, y->word)),
              "field %u of %s", i, shown(a->name));
        CHECK(x->kind != INIT_NUMBERS || (x->number_count == y->number_count &&
                                          memcmp(x->numbers, y->numbers, x->number_count * sizeof *x->numbers) == 0),
              "numbers %u of %s", i, shown(a->name));
        if (x->kind != INIT_OPEN && x->kind != INIT_CLOSE && x->kind != INIT_NUMBERS &&
            constants_differ(comparison, &x->constant, &y->constant))
            return true;
    }
    return false;
}

static bool variables_differ(Comparison *comparison, const Variable *a, const Variable *b)
{
    CHECK(same_name(a->name, b->name), "variable %s became %s", shown(a->name), shown(b->name));
    CHECK(a->space == b->space && a->linkage == b->linkage && a->type == b->type && a->vector == b->vector &&
              a->align == b->align && a->const_bank == b->const_bank,
          "the type of %s", shown(a->name));
    CHECK(a->is_array == b->is_array && a->dim_count == b->dim_count &&
              (!a->dim_count || memcmp(a->dims, b->dims, a->dim_count * sizeof *a->dims) == 0),
          "the dimensions of %s", shown(a->name));
    CHECK(a->is_parameter == b->is_parameter && a->is_ptr == b->is_ptr && a->ptr_space == b->ptr_space &&
              a->ptr_align == b->ptr_align && a->managed == b->managed && a->unified == b->unified &&
              a->unified_id[0] == b->unified_id[0] && a->unified_id[1] == b->unified_id[1],
          "the attributes of %s", shown(a->name));
    return inits_differ(comparison, a, b);
}

static bool prototypes_differ(Comparison *comparison, const Prototype *a, const Prototype *b)
{
    CHECK(a->return_count == b->return_count && a->param_count == b->param_count && a->noreturn == b->noreturn &&
              a->abi_preserve == b->abi_preserve && a->abi_preserve_control == b->abi_preserve_control,
          "a prototype");
    for (unsigned i = 0; i < a->return_count; i++)
        if (variables_differ(comparison, a->returns[i], b->returns[i]))
            return true;
    for (unsigned i = 0; i < a->param_count; i++)
        if (variables_differ(comparison, a->params[i], b->params[i]))
            return true;
    return false;
}

static bool operand_differs(Comparison *comparison, const Operand *a, const Operand *b)
{
    CHECK(a->kind == b->kind && a->negated == b->negated && a->inverted == b->inverted && a->indexed == b->indexed &&
              a->unified == b->unified && a->ref == b->ref && a->item_count == b->item_count &&
              same_name(a->selector, b->selector) && (a->kind != OPERAND_SREG || a->sreg == b->sreg),
          "an operand of kind %d became one of kind %d", a->kind, b->kind);
    if (constants_differ(comparison, a->constant, b->constant))
        return true;
    return a->kind == OPERAND_SYMBOL && symbols_differ(comparison, &a->symbol, &b->symbol);
}

/* The grammar's trees are at most four levels deep; a deeper one is a bug in itself. */
static bool operands_differ(Comparison *comparison, const Operand *a, const Operand *b, unsigned count, unsigned depth)
{
    CHECK(depth < 8, "operands nest too deep");
    for (unsigned i = 0; i < count; i++)
        if (operand_differs(comparison, &a[i], &b[i]) ||
            operands_differ(comparison, a[i].items, b[i].items, a[i].item_count, depth + 1))
            return true;
    return false;
}

static bool registers_differ(Comparison *comparison, const Reg *a, const Reg *b)
{
    CHECK(same_name(a->name, b->name) && a->type == b->type && a->vector == b->vector, "register %s became %s",
          shown(a->name), shown(b->name));
    return false;
}

static bool instructions_differ(Comparison *comparison, const Inst *a, const Inst *b, const Function *fa,
                                const Function *fb)
{
    const char *spelling = inst_spelling(comparison->arena, a);
    CHECK(same_name(spelling, inst_spelling(comparison->arena, b)), "instruction %s became %s", spelling,
          inst_spelling(comparison->arena, b));
    CHECK(a->form == b->form && a->effects == b->effects && a->sync == b->sync && a->guard == b->guard &&
              a->guard_inverted == b->guard_inverted && a->operand_count == b->operand_count &&
              a->ref_count == b->ref_count,
          "%s is another form", spelling);
    for (unsigned i = 0; i < a->ref_count; i++) {
        CHECK(a->refs[i].role == b->refs[i].role && a->refs[i].type == b->refs[i].type, "a register's role in %s",
              spelling);
        if (registers_differ(comparison, &fa->regs.data[a->refs[i].reg], &fb->regs.data[b->refs[i].reg]))
            return true;
    }
    return operands_differ(comparison, a->operands, b->operands, a->operand_count, 0);
}

static bool declarations_differ(Comparison *comparison, const RegDecl *a, const RegDecl *b)
{
    CHECK(a->type == b->type && a->vector == b->vector && a->align == b->align && a->item_count == b->item_count,
          "a declaration of registers");
    for (unsigned i = 0; i < a->item_count; i++)
        CHECK(same_name(a->items[i].name, b->items[i].name) && a->items[i].is_range == b->items[i].is_range &&
                  a->items[i].count == b->items[i].count,
              "the declaration of %s", a->items[i].name);
    return false;
}

static bool locations_differ(Comparison *comparison, const Loc *a, const Loc *b)
{
    CHECK(a->file == b->file && a->line == b->line && a->column == b->column && a->inlined == b->inlined &&
              same_name(a->function_name, b->function_name) && a->function_offset == b->function_offset &&
              a->at_file == b->at_file && a->at_line == b->at_line && a->at_column == b->at_column,
          ".loc %u %u %u", a->file, a->line, a->column);
    return false;
}

static bool pragmas_differ(Comparison *comparison, const Pragma *a, const Pragma *b)
{
    CHECK(a->count == b->count, "a pragma");
    for (unsigned i = 0; i < a->count; i++)
        CHECK(same_name(a->strings[i], b->strings[i]), "pragma \"%s\"", a->strings[i]);
    return false;
}

static bool tables_differ(Comparison *comparison, const Table *a, const Table *b)
{
    CHECK(a->kind == b->kind && same_name(a->name, b->name) && a->count == b->count, "table %s", a->name);
    for (unsigned i = 0; i < a->count; i++)
        CHECK(a->kind == TABLE_BRANCH_TARGETS ? same_name(a->labels[i]->name, b->labels[i]->name)
              : a->kind == TABLE_CALL_TARGETS ? same_name(a->functions[i]->name, b->functions[i]->name)
                                              : true,
              "entry %u of table %s", i, a->name);
    return a->kind == TABLE_CALL_PROTOTYPE && prototypes_differ(comparison, &a->prototype, &b->prototype);
}

static bool statements_differ(Comparison *comparison, const Stmt *a, const Stmt *b, const Function *fa,
                              const Function *fb)
{
    CHECK(a->kind == b->kind, "a statement of kind %d became one of kind %d", a->kind, b->kind);
    switch (a->kind) {
    case STMT_INST: return instructions_differ(comparison, a->inst, b->inst, fa, fb);
    case STMT_LABEL: CHECK(same_name(a->label->name, b->label->name), "label %s", a->label->name); break;
    case STMT_REGISTERS: return declarations_differ(comparison, a->registers, b->registers);
    case STMT_VARIABLE: return variables_differ(comparison, a->variable, b->variable);
    case STMT_LOC: return locations_differ(comparison, a->loc, b->loc);
    case STMT_PRAGMA: return pragmas_differ(comparison, a->pragma, b->pragma);
    case STMT_TABLE: return tables_differ(comparison, a->table, b->table);
    case STMT_OPEN:
    case STMT_CLOSE: break;
    }
    return false;
}

static bool tunings_differ(Comparison *comparison, const Tuning *a, const Tuning *b)
{
    CHECK(a->maxnreg == b->maxnreg && memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) == 0 &&
              a->maxntid_count == b->maxntid_count && memcmp(a->reqntid, b->reqntid, sizeof a->reqntid) == 0 &&
              a->reqntid_count == b->reqntid_count && a->minnctapersm == b->minnctapersm &&
              a->maxnctapersm == b->maxnctapersm &&
              memcmp(a->reqnctapercluster, b->reqnctapercluster, sizeof a->reqnctapercluster) == 0 &&
              a->reqnctapercluster_count == b->reqnctapercluster_count && a->maxclusterrank == b->maxclusterrank &&
              a->explicitcluster == b->explicitcluster && a->blocksareclusters == b->blocksareclusters,
          "the tuning directives");
    return false;
}

static bool functions_differ(Comparison *comparison, const Function *a, const Function *b)
{
    CHECK(same_name(a->name, b->name), "function %s became %s", a->name, b->name);
    comparison->function = a;
    CHECK(a->linkage == b->linkage && a->is_entry == b->is_entry && a->has_body == b->has_body &&
              a->unified == b->unified && a->unified_id[0] == b->unified_id[0] && a->unified_id[1] == b->unified_id[1],
          "the kind of function");
    CHECK(!a->definition == !b->definition, "the function's definition");
    if (prototypes_differ(comparison, &a->prototype, &b->prototype) ||
        tunings_differ(comparison, &a->tuning, &b->tuning))
        return true;
    CHECK(a->pragmas.count == b->pragmas.count, "%zu pragmas became %zu", a->pragmas.count, b->pragmas.count);
    for (size_t i = 0; i < a->pragmas.count; i++)
        if (pragmas_differ(comparison, &a->pragmas.data[i], &b->pragmas.data[i]))
            return true;
    CHECK(a->regs.count == b->regs.count, "%zu registers became %zu", a->regs.count, b->regs.count);
    for (size_t i = 0; i < a->regs.count; i++)
        if (registers_differ(comparison, &a->regs.data[i], &b->regs.data[i]))
            return true;
    CHECK(a->stmts.count == b->stmts.count, "%zu statements became %zu", a->stmts.count, b->stmts.count);
    for (size_t i = 0; i < a->stmts.count; i++)
        if (statements_differ(comparison, &a->stmts.data[i], &b->stmts.data[i], a, b))
            return true;
    comparison->function = NULL;
    return false;
}

static bool items_differ(Comparison *comparison, const Item *a, const Item *b)
{
    CHECK(a->kind == b->kind, "an item of kind %d became one of kind %d", a->kind, b->kind);
    switch (a->kind) {
    case ITEM_VARIABLE: return variables_differ(comparison, a->variable, b->variable);
    case ITEM_FUNCTION: return functions_differ(comparison, a->function, b->function);
    case ITEM_PRAGMA: return pragmas_differ(comparison, a->pragma, b->pragma);
    case ITEM_FILE:
        CHECK(a->file.index == b->file.index && same_name(a->file.path, b->file.path) &&
                  a->file.has_stamp == b->file.has_stamp && a->file.timestamp == b->file.timestamp &&
                  a->file.size == b->file.size,
              ".file %u", a->file.index);
        break;
    case ITEM_SECTION:
        CHECK(same_name(a->section.name, b->section.name) && same_name(a->section.text, b->section.text),
              "section %s", a->section.name);
        break;
    case ITEM_ALIAS:
        CHECK(same_name(a->alias.alias->name, b->alias.alias->name) &&
                  same_name(a->alias.aliasee->name, b->alias.aliasee->name),
              "alias %s", a->alias.alias->name);
        break;
    case ITEM_VERBATIM: CHECK(same_name(a->verbatim, b->verbatim), "line %s", a->verbatim); break;
    }
    return false;
}

static bool modules_differ(Comparison *comparison, const Module *a, const Module *b)
{
    CHECK(a->version == b->version && a->address_size == b->address_size && a->target_count == b->target_count,
          "the header");
    for (unsigned i = 0; i < a->target_count; i++)
        CHECK(same_name(a->targets[i], b->targets[i]), "target %s", a->targets[i]);
    CHECK(a->items.count == b->items.count, "%zu items became %zu", a->items.count, b->items.count);
    for (size_t i = 0; i < a->items.count; i++)
        if (items_differ(comparison, &a->items.data[i], &b->items.data[i]))
            return true;
    return false;
}

const char *module_difference(Arena *arena, const Module *a, const Module *b)
{
    Comparison comparison = {.arena = arena};
    return modules_differ(&comparison, a, b) ? comparison.difference : NULL;
}
