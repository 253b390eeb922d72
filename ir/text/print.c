/* The text of instructions, operands, constants and declarations: the same for the emitter and for the dump. */
#include "ir/text/listing.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Initialiser lists are broken into lines of about this many characters. */
enum { INITIALISER_WIDTH = 110 };

static bool spelling_is_simple(const char *spelling)
{
    if (*spelling == '-')
        spelling++;
    if (*spelling == 0)
        return false;
    for (; *spelling; spelling++)
        if (!(*spelling >= '0' && *spelling <= '9') && !(*spelling >= 'a' && *spelling <= 'z') &&
            !(*spelling >= 'A' && *spelling <= 'Z') && *spelling != '_')
            return false;
    return true;
}

static void integer_print(const Constant *constant, Buf *out)
{
    bool negative = !constant->is_unsigned && (int64_t)constant->bits < 0;
    if (negative && constant->bits == UINT64_C(1) << 63) {
        buf_puts(out, "0x8000000000000000"); /* -9223372036854775808 would be the negation of an unsigned literal */
        return;
    }
    if (negative)
        buf_putc(out, '-');
    buf_unsigned(out, negative ? -constant->bits : constant->bits);
}

static void decimal_print(uint64_t bits, Buf *out)
{
    double value;
    char text[40];
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        buf_printf(out, "0d%016" PRIX64, bits);
        return;
    }
    snprintf(text, sizeof text, "%.17g", value);
    buf_puts(out, text);
    if (!strpbrk(text, ".e"))
        buf_puts(out, ".0");
}

static void constant_print(const Constant *constant, Buf *out)
{
    if (constant->spelling) {
        buf_name(out, constant->spelling);
        return;
    }
    switch (constant->kind) {
    case CONSTANT_INT: integer_print(constant, out); break;
    case CONSTANT_F32: buf_printf(out, "0f%08" PRIX32, (uint32_t)constant->bits); break;
    case CONSTANT_F64: buf_printf(out, "0d%016" PRIX64, constant->bits); break;
    case CONSTANT_DECIMAL: decimal_print(constant->bits, out); break;
    }
}

/* After "+" an expression would bind differently, so only a literal keeps its spelling. */
static void offset_print(const Constant *offset, Buf *out)
{
    buf_putc(out, '+');
    if (offset->spelling && spelling_is_simple(offset->spelling))
        buf_name(out, offset->spelling);
    else
        integer_print(offset, out);
}

static uint64_t element_bytes(const Operand *base)
{
    if (base->kind != OPERAND_SYMBOL || base->symbol.kind != SYMBOL_VARIABLE)
        return 1;
    const Variable *variable = base->symbol.variable;
    uint64_t bytes = type_bits(variable->type) / 8 * (variable->vector ? variable->vector : 1);
    return bytes ? bytes : 1;
}

static void operand_print(const Inst *inst, const Operand *operand, const InstNames *names, Buf *out);

static void items_print(const Inst *inst, const Operand *operand, const char *separator, const InstNames *names,
                        Buf *out)
{
    for (unsigned i = 0; i < operand->item_count; i++) {
        if (i)
            buf_puts(out, separator);
        operand_print(inst, &operand->items[i], names, out);
    }
}

static void symbol_print(const Inst *inst, const Operand *operand, const InstNames *names, Buf *out)
{
    if (operand->symbol.kind == SYMBOL_LABEL && inst->target_count) {
        const Block *target = inst->targets[0];
        Name name = names->blocks ? pointer_map_get(names->blocks, target) : target->label;
        buf_puts(out, name ? name : "?");
    } else if (operand->symbol.kind == SYMBOL_TABLE && names->table) {
        buf_puts(out, names->table);
    } else {
        buf_puts(out, symbol_name(&operand->symbol));
    }
}

/* VAR[REG], VAR[REG+N] and VAR[N]: the parser keeps a constant index in bytes, the text counts elements. */
static void indexed_print(const Inst *inst, const Operand *operand, const InstNames *names, Buf *out)
{
    operand_print(inst, &operand->items[0], names, out);
    buf_putc(out, '[');
    if (operand->item_count > 1) {
        operand_print(inst, &operand->items[1], names, out);
        if (operand->constant)
            offset_print(operand->constant, out);
    } else if (operand->constant) {
        int64_t bytes = (int64_t)element_bytes(&operand->items[0]);
        buf_printf(out, "%" PRId64, (int64_t)operand->constant->bits / bytes);
    } else {
        buf_putc(out, '0');
    }
    buf_putc(out, ']');
}

static void address_print(const Inst *inst, const Operand *operand, const InstNames *names, Buf *out)
{
    if (operand->indexed) {
        indexed_print(inst, operand, names, out);
        return;
    }
    buf_putc(out, '[');
    items_print(inst, operand, "+", names, out);
    if (operand->constant) {
        if (operand->item_count)
            offset_print(operand->constant, out);
        else
            constant_print(operand->constant, out);
    }
    buf_putc(out, ']');
}

/* Recursion is safe here: the grammar bounds the depth of operand trees (a list of vectors of registers). */
static void operand_print(const Inst *inst, const Operand *operand, const InstNames *names, Buf *out)
{
    if (operand->negated)
        buf_putc(out, '-');
    if (operand->inverted)
        buf_putc(out, '!');
    switch (operand->kind) {
    case OPERAND_REG: {
        RegId reg = operand->ref < inst->ref_count ? inst->refs[operand->ref].reg : REG_NONE;
        if (reg < names->reg_count)
            buf_name(out, names->regs[reg].name);
        else
            buf_putc(out, '?');
        break;
    }
    case OPERAND_SREG: buf_puts(out, operand->sreg->name); break;
    case OPERAND_CONSTANT: constant_print(operand->constant, out); break;
    case OPERAND_SYMBOL: symbol_print(inst, operand, names, out); break;
    case OPERAND_SINK: buf_putc(out, '_'); break;
    case OPERAND_VECTOR:
        buf_putc(out, '{');
        items_print(inst, operand, ", ", names, out);
        buf_putc(out, '}');
        break;
    case OPERAND_PAIR: items_print(inst, operand, "|", names, out); break;
    case OPERAND_ADDRESS: address_print(inst, operand, names, out); break;
    case OPERAND_COMPOSITE:
        buf_putc(out, '[');
        items_print(inst, operand, ", ", names, out);
        buf_putc(out, ']');
        break;
    case OPERAND_LIST:
        buf_putc(out, '(');
        items_print(inst, operand, ", ", names, out);
        buf_putc(out, ')');
        break;
    }
    if (operand->selector)
        buf_name(out, operand->selector);
    if (operand->constant && (operand->kind == OPERAND_REG || operand->kind == OPERAND_SYMBOL))
        offset_print(operand->constant, out);
    if (operand->unified)
        buf_puts(out, ".unified");
}

void inst_print_named(const Inst *inst, const InstNames *names, Buf *out)
{
    if (inst_is_guarded(inst)) {
        RegId guard = inst_predicate(inst);
        buf_puts(out, inst->guard_inverted ? "@!" : "@");
        buf_puts(out, guard < names->reg_count ? names->regs[guard].name : "?");
        buf_putc(out, ' ');
    }
    /* A function in body form has been changed, so its modifiers are written in the order that the PTX ISA
     * documents. */
    if (names->blocks)
        signature_print_documented(inst->signature, inst->form, out);
    else
        signature_print(inst->signature, out);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        buf_puts(out, i ? ", " : " ");
        operand_print(inst, &inst->operands[i], names, out);
    }
    buf_putc(out, ';');
}

void inst_print(const Inst *inst, const RegVec *regs, Buf *out)
{
    InstNames names = {.regs = regs->data, .reg_count = regs->count};
    inst_print_named(inst, &names, out);
}

static void place_print(uint32_t file, uint32_t line, uint32_t column, Buf *out)
{
    buf_unsigned(out, file);
    buf_putc(out, ' ');
    buf_unsigned(out, line);
    buf_putc(out, ' ');
    buf_unsigned(out, column);
}

void loc_print(const Loc *loc, Buf *out)
{
    buf_puts(out, "\t.loc ");
    place_print(loc->file, loc->line, loc->column, out);
    if (loc->inlined) {
        buf_puts(out, ", function_name ");
        buf_name(out, loc->function_name);
        if (loc->function_offset) {
            buf_putc(out, '+');
            buf_unsigned(out, loc->function_offset);
        }
        buf_puts(out, ", inlined_at ");
        place_print(loc->at_file, loc->at_line, loc->at_column, out);
    }
    buf_putc(out, '\n');
}

void pragma_print(const Pragma *pragma, Buf *out)
{
    buf_puts(out, ".pragma ");
    for (unsigned i = 0; i < pragma->count; i++)
        buf_printf(out, "%s\"%s\"", i ? ", " : "", pragma->strings[i]);
    buf_putc(out, ';');
}

static void init_print(const Init *init, Buf *out)
{
    switch ((InitKind)init->kind) {
    case INIT_OPEN: buf_putc(out, '{'); break;
    case INIT_CLOSE: buf_putc(out, '}'); break;
    case INIT_NUMBERS: break; /* inits_print */
    case INIT_CONSTANT: constant_print(&init->constant, out); break;
    case INIT_SYMBOL:
        if (init->masked)
            buf_printf(out, "0x%" PRIx64 "(", UINT64_C(0xFF) << 8 * init->mask_byte);
        buf_printf(out, init->generic ? "generic(%s)" : "%s", symbol_name(&init->symbol));
        if (init->constant.bits)
            offset_print(&init->constant, out);
        if (init->masked)
            buf_putc(out, ')');
        break;
    case INIT_FIELD:
        buf_printf(out, "%s = ", init->field);
        if (init->word)
            buf_puts(out, init->word);
        else
            constant_print(&init->constant, out);
        break;
    }
}

static void init_separate(size_t *line, Buf *out)
{
    buf_putc(out, ',');
    if (out->length - *line > INITIALISER_WIDTH) {
        *line = out->length;
        buf_puts(out, "\n\t");
    } else {
        buf_putc(out, ' ');
    }
}

static void inits_print(const Variable *variable, Buf *out)
{
    size_t line = out->length;
    buf_puts(out, " = ");
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (i && init->kind != INIT_CLOSE && variable->inits[i - 1].kind != INIT_OPEN)
            init_separate(&line, out);
        if (init->kind != INIT_NUMBERS) {
            init_print(init, out);
            continue;
        }
        for (unsigned k = 0; k < init->number_count; k++) {
            if (k)
                init_separate(&line, out);
            buf_unsigned(out, init->numbers[k]);
        }
    }
}

static const char *linkage_text(Linkage linkage)
{
    switch (linkage) {
    case LINKAGE_NONE: return "";
    case LINKAGE_EXTERN: return ".extern ";
    case LINKAGE_VISIBLE: return ".visible ";
    case LINKAGE_WEAK: return ".weak ";
    case LINKAGE_COMMON: return ".common ";
    }
    return "";
}

void variable_print(const Variable *variable, Buf *out)
{
    buf_puts(out, linkage_text(variable->linkage));
    buf_putc(out, '.');
    buf_puts(out, space_name(variable->space));
    if (variable->const_bank > 0) /* bank 0 is the default */
        buf_printf(out, "[%d]", variable->const_bank);
    if (variable->managed)
        buf_puts(out, " .attribute(.managed)");
    if (variable->unified)
        buf_printf(out, " .attribute(.unified(%" PRIu64 ", %" PRIu64 "))", variable->unified_id[0],
                   variable->unified_id[1]);
    if (variable->align) {
        buf_puts(out, " .align ");
        buf_unsigned(out, variable->align);
    }
    if (variable->vector > 1)
        buf_printf(out, " .v%u", variable->vector);
    buf_puts(out, " .");
    buf_puts(out, type_name(variable->type));
    if (variable->is_ptr) {
        buf_puts(out, " .ptr");
        if (variable->ptr_space != SPACE_NONE)
            buf_printf(out, " .%s", space_name(variable->ptr_space));
        if (variable->ptr_align)
            buf_printf(out, " .align %" PRIu64, variable->ptr_align);
    }
    buf_putc(out, ' ');
    buf_puts(out, variable->name ? variable->name : "_");
    for (unsigned i = 0; i < variable->dim_count; i++) {
        buf_putc(out, '[');
        if (variable->dims[i])
            buf_unsigned(out, variable->dims[i]);
        buf_putc(out, ']');
    }
    if (variable->init_count)
        inits_print(variable, out);
}

static void variables_print(Variable *const *variables, unsigned count, Buf *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (i)
            buf_puts(out, ", ");
        variable_print(variables[i], out);
    }
}

static void prototype_attributes_print(const Prototype *prototype, const char *separator, Buf *out)
{
    if (prototype->noreturn)
        buf_printf(out, "%s.noreturn", separator);
    if (prototype->abi_preserve >= 0)
        buf_printf(out, "%s.abi_preserve %d", separator, prototype->abi_preserve);
    if (prototype->abi_preserve_control >= 0)
        buf_printf(out, "%s.abi_preserve_control %d", separator, prototype->abi_preserve_control);
}

void table_print(const Table *table, Buf *out)
{
    buf_printf(out, "%s: ", table->name);
    switch (table->kind) {
    case TABLE_BRANCH_TARGETS:
        buf_puts(out, ".branchtargets ");
        for (unsigned i = 0; i < table->count; i++)
            buf_printf(out, "%s%s", i ? ", " : "", table->labels[i]->name);
        break;
    case TABLE_CALL_TARGETS:
        buf_puts(out, ".calltargets ");
        for (unsigned i = 0; i < table->count; i++)
            buf_printf(out, "%s%s", i ? ", " : "", table->functions[i]->name);
        break;
    case TABLE_CALL_PROTOTYPE:
        buf_puts(out, ".callprototype ");
        if (table->prototype.return_count) {
            buf_putc(out, '(');
            variables_print(table->prototype.returns, table->prototype.return_count, out);
            buf_puts(out, ") ");
        }
        buf_puts(out, "_ (");
        variables_print(table->prototype.params, table->prototype.param_count, out);
        buf_putc(out, ')');
        prototype_attributes_print(&table->prototype, " ", out);
        break;
    }
    buf_putc(out, ';');
}

static void dimensions_print(const char *directive, const unsigned *numbers, unsigned count, Buf *out)
{
    if (count)
        buf_printf(out, "\n.%s %u", directive, numbers[0]);
    for (unsigned i = 1; i < count; i++)
        buf_printf(out, ", %u", numbers[i]);
}

static void number_print(const char *directive, unsigned number, Buf *out)
{
    if (number)
        buf_printf(out, "\n.%s %u", directive, number);
}

static void tuning_print(const Tuning *tuning, Buf *out)
{
    dimensions_print("maxntid", tuning->maxntid, tuning->maxntid_count, out);
    dimensions_print("reqntid", tuning->reqntid, tuning->reqntid_count, out);
    number_print("minnctapersm", tuning->minnctapersm, out);
    number_print("maxnctapersm", tuning->maxnctapersm, out);
    number_print("maxnreg", tuning->maxnreg, out);
    if (tuning->explicitcluster)
        buf_puts(out, "\n.explicitcluster");
    dimensions_print("reqnctapercluster", tuning->reqnctapercluster, tuning->reqnctapercluster_count, out);
    number_print("maxclusterrank", tuning->maxclusterrank, out);
    if (tuning->blocksareclusters)
        buf_puts(out, "\n.blocksareclusters");
}

void function_print_header(const Function *function, const Tuning *tuning, Buf *out)
{
    const Prototype *prototype = &function->prototype;
    buf_printf(out, "%s%s ", linkage_text(function->linkage), function->is_entry ? ".entry" : ".func");
    if (function->unified)
        buf_printf(out, ".attribute(.unified(%" PRIu64 ", %" PRIu64 ")) ", function->unified_id[0],
                   function->unified_id[1]);
    if (prototype->return_count) {
        buf_putc(out, '(');
        variables_print(prototype->returns, prototype->return_count, out);
        buf_puts(out, ") ");
    }
    buf_printf(out, "%s(", function->name);
    for (unsigned i = 0; i < prototype->param_count; i++) {
        buf_puts(out, i ? ",\n\t" : "\n\t");
        variable_print(prototype->params[i], out);
    }
    buf_puts(out, prototype->param_count ? "\n)" : ")");
    prototype_attributes_print(prototype, "\n", out);
    tuning_print(tuning, out);
    for (size_t i = 0; i < function->pragmas.count; i++) {
        buf_putc(out, '\n');
        pragma_print(&function->pragmas.data[i], out);
    }
}
