/* Initial values of variables; PTX ISA, section "Variables", "Initializers". They are flat lists, while they are read
 * and afterwards, so that nesting needs no recursion. */
#include <string.h>

#include "parser/internal.h"

static Init *push(Parser *parser, InitKind kind, Span span)
{
    Initializer *list = &parser->init;
    VEC_PUSH(parser->scratch, list->values, (Init){.kind = (uint8_t)kind});
    VEC_PUSH(parser->scratch, list->spans, span);
    return &VEC_LAST(list->values);
}

void init_begin(Initializer *init)
{
    init->values.count = 0;
    init->spans.count = 0;
    init->numbers.count = 0;
    init->bad = false;
}

void init_push_constant(Parser *parser, ConstantValue value, Span span)
{
    parser->init.bad |= value.bad;
    Constant constant = constant_value(parser, value, span);
    if (constant.kind == CONSTANT_INT && !constant.spelling && !constant.is_unsigned)
        init_push_numbers(parser, &constant.bits, 1, span);
    else
        push(parser, INIT_CONSTANT, span)->constant = constant;
}

void init_push_numbers(Parser *parser, const uint64_t *numbers, size_t count, Span first)
{
    Initializer *list = &parser->init;
    Init *last = list->values.count ? &VEC_LAST(list->values) : NULL;
    if (!last || last->kind != INIT_NUMBERS)
        last = push(parser, INIT_NUMBERS, first);
    last->number_count += (unsigned)count;
    for (size_t i = 0; i < count; i++)
        VEC_PUSH(parser->scratch, list->numbers, numbers[i]);
}

/* The variable or function 'name'; false, reported, if there is none. */
static bool find_symbol(Parser *parser, Name name, Span span, Symbol *symbol)
{
    Binding *binding = scope_find(&parser->scopes, name);
    if (binding == NULL) {
        parser_report_unknown(parser, name, span, "variable or function");
        return false;
    }
    switch (binding->kind) {
    case BINDING_VARIABLE:
        *symbol = (Symbol){.kind = SYMBOL_VARIABLE, .variable = binding->variable};
        if (binding->variable->space == SPACE_GLOBAL || binding->variable->space == SPACE_CONST)
            return true;
        diag_error(parser->diag, span, "only the address of a .global or .const variable can be an initial value");
        return false;
    case BINDING_FUNCTION: *symbol = (Symbol){.kind = SYMBOL_FUNCTION, .function = binding->function}; return true;
    case BINDING_BAD: return false;
    default: diag_error(parser->diag, span, "'%s' is neither a variable nor a function", name); return false;
    }
}

void init_push_symbol(Parser *parser, Name name, Span span, const ConstantValue *offset, Span offset_span)
{
    Initializer *list = &parser->init;
    Symbol symbol = {0};
    if (!find_symbol(parser, name, span, &symbol)) {
        list->bad = true;
    } else if (offset && symbol.kind == SYMBOL_FUNCTION) {
        diag_error(parser->diag, offset_span, "nothing can be added to the address of a function");
        list->bad = true;
    }
    Init *init = push(parser, INIT_SYMBOL, span);
    init->symbol = symbol;
    if (offset) {
        if (!constant_is_integer(parser->diag, *offset, offset_span))
            list->bad = true;
        init->constant = constant_value(parser, *offset, offset_span);
    }
}

void init_push_call(Parser *parser, Name function, Span function_span, Name name, Span span,
                    const ConstantValue *offset, Span offset_span)
{
    if (strcmp(function, "generic") != 0) {
        diag_error(parser->diag, function_span, "the only function allowed in an initial value is 'generic'");
        parser->init.bad = true;
    }
    init_push_symbol(parser, name, span, offset, offset_span);
    VEC_LAST(parser->init.values).generic = true;
}

void init_mask_last(Parser *parser, uint64_t mask, Span span)
{
    unsigned byte = mask ? (unsigned)__builtin_ctzll(mask) / 8 : 0;
    if (mask != UINT64_C(0xFF) << 8 * byte) {
        diag_error(parser->diag, span, "a mask selects one byte: 0xff, 0xff00 and so on");
        parser->init.bad = true;
    }
    Init *init = &VEC_LAST(parser->init.values);
    init->masked = true;
    init->mask_byte = (uint8_t)byte;
}

void init_push_field(Parser *parser, Name field, Span span, Name word, Span word_span, const ConstantValue *value)
{
    Initializer *list = &parser->init;
    /* The last one is not for textures; "num_mipmap_levels" and those after it are not for surfaces. */
    static const char *const fields[] = {
        "width",
        "height",
        "depth",
        "channel_data_type",
        "channel_order",
        "array_size",
        "num_mipmap_levels",
        "num_samples",
        "normalized_coords",
        "filter_mode",
        "addr_mode_0",
        "addr_mode_1",
        "addr_mode_2",
        "force_unnormalized_coords",
    };
    enum { FOR_SURFACES = 6, FOR_TEXTURES = COUNT_OF(fields) - 1 };
    Type type = parser->decl.type;
    size_t count = type == TYPE_SURFREF ? FOR_SURFACES : type == TYPE_TEXREF ? FOR_TEXTURES : COUNT_OF(fields);
    static const char *const words[] = {"wrap",    "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border",
                                        "nearest", "linear"};
    bool known = false;
    for (size_t i = 0; i < count; i++)
        known |= strcmp(field, fields[i]) == 0;
    if (!known) {
        const char *closest = closest_word(field, fields, count);
        if (closest)
            diag_error(parser->diag, span, "a .%s has no field '%s'; did you mean '%s'?", type_name(type), field,
                       closest);
        else
            diag_error(parser->diag, span, "a .%s has no field '%s'", type_name(type), field);
        list->bad = true;
    }
    known = word == NULL;
    for (size_t i = 0; i < COUNT_OF(words) && !known; i++)
        known |= strcmp(word, words[i]) == 0;
    if (!known) {
        diag_error(parser->diag, word_span, "unknown value '%s'", word);
        list->bad = true;
    }
    Init *init = push(parser, INIT_FIELD, span);
    init->field = field;
    init->word = word;
    if (value) {
        if (!constant_is_integer(parser->diag, *value, word_span))
            list->bad = true;
        init->constant = constant_value(parser, *value, word_span);
    }
}

void init_open(Parser *parser, Span span)
{
    push(parser, INIT_OPEN, span);
}

void init_close(Parser *parser, Span span)
{
    push(parser, INIT_CLOSE, span);
}

static bool constant_fits(const Constant *constant, Type type)
{
    if (constant->kind == CONSTANT_INT)
        return class_is_integer(type_class(type));
    return type == TYPE_F32 || type == TYPE_F64 || type == TYPE_B32 || type == TYPE_B64;
}

/* The mistake in one value of a variable of this type; NULL if there is none. */
static const char *value_mistake(const Init *init, Type type)
{
    switch ((InitKind)init->kind) {
    case INIT_NUMBERS:
    case INIT_CONSTANT:
        if (type_class(type) == CLASS_OPAQUE)
            return "the initial value of a texture, sampler or surface must be a list of fields";
        if (!constant_fits(&init->constant, type))
            return init->constant.kind == CONSTANT_INT
                       ? "an integer cannot be the initial value of this type"
                       : "a floating-point number cannot be the initial value of this type";
        return NULL;
    case INIT_SYMBOL:
        if (init->masked)
            return type == TYPE_U8 ? NULL : "a byte of an address can be the initial value only of a .u8";
        return type == TYPE_U64 || type == TYPE_U32 ? NULL
                                                    : "an address can be the initial value only of a .u32 or .u64";
    default: return type_class(type) == CLASS_OPAQUE ? NULL : "only a texture, sampler or surface has fields";
    }
}

typedef struct Level {
    uint64_t count, limit; /* limit 0: none */
    bool exact;            /* a vector: the limit must be reached */
} Level;

typedef VEC(Level) LevelVec;

static unsigned level_count(const Variable *variable)
{
    return variable->dim_count + (variable->vector > 1 || type_class(variable->type) == CLASS_OPAQUE);
}

static Level level_at(const Variable *variable, unsigned depth)
{
    if (depth < variable->dim_count)
        return (Level){.limit = variable->dims[depth]};
    if (variable->vector > 1)
        return (Level){.limit = variable->vector, .exact = true};
    return (Level){.limit = 0};
}

static void report_excess(Parser *parser, const Variable *variable, Span span)
{
    diag_error(parser->diag, span, "there are more initial values than '%s' has elements", variable->name);
}

/* The number so far after the one that begins at 'at': between them are only blanks, comments and commas. */
static Span number_span(const Parser *parser, uint32_t at, uint64_t index)
{
    const char *text = parser->source->text;
    for (;;) {
        uint32_t end = at;
        while (text[end] >= '0' && text[end] <= '9')
            end++;
        if (!index--)
            return (Span){at, end};
        for (at = end; text[at] < '0' || text[at] > '9';) {
            if (text[at] == '/' && text[at + 1] == '/')
                at += (uint32_t)strcspn(text + at, "\n");
            else if (text[at] == '/' && text[at + 1] == '*')
                at = (uint32_t)(strstr(text + at + 2, "*/") + 2 - text);
            else
                at++;
        }
    }
}

/* Walks the list against the variable's dimensions. False if a mistake was reported. */
static bool check(Parser *parser, Variable *variable)
{
    Diag *diag = parser->diag;
    unsigned levels = level_count(variable);
    LevelVec stack = {0};
    for (size_t i = 0; i < parser->init.values.count; i++) {
        const Init *init = &parser->init.values.data[i];
        Span span = parser->init.spans.data[i];
        if (init->kind == INIT_CLOSE) {
            Level level = VEC_POP(stack);
            if (level.exact && level.count != level.limit) {
                diag_error(diag, span, "a vector of %u element%s needs exactly that many initial values",
                           variable->vector, plural(variable->vector));
                return false;
            }
            if (stack.count == 0 && variable->dim_count > 0 && variable->dims[0] == 0)
                variable->dims[0] = level.count;
            continue;
        }
        Level *level = stack.count ? &VEC_LAST(stack) : NULL;
        uint64_t room = level && level->limit ? level->limit - level->count : UINT64_MAX;
        uint64_t count = init->kind == INIT_NUMBERS ? init->number_count : 1;
        if (level && room)
            level->count += count;
        if (!room) {
            report_excess(parser, variable, span);
            return false;
        }
        if (init->kind == INIT_OPEN) {
            if (stack.count == levels) {
                diag_error(diag, span, "too many levels of braces for '%s'", variable->name);
                return false;
            }
            Level inner = level_at(variable, (unsigned)stack.count);
            VEC_PUSH(parser->scratch, stack, inner);
            continue;
        }
        if (stack.count < levels) {
            diag_error(diag, span, "the initial value of '%s' must be a list in braces here", variable->name);
            return false;
        }
        const char *mistake = value_mistake(init, variable->type);
        if (mistake) {
            diag_error(diag, span, "%s", mistake);
            return false;
        }
        if (count > room) {
            report_excess(parser, variable, number_span(parser, span.begin, room));
            return false;
        }
    }
    return true;
}

void init_finish(Parser *parser, Variable *variable, Span span)
{
    Initializer *list = &parser->init;
    if (list->bad || list->values.count == 0)
        return;
    if (variable->type == TYPE_F16 || variable->type == TYPE_F16X2) {
        diag_error(parser->diag, span, "a variable of type .%s cannot have an initial value",
                   type_name(variable->type));
        return;
    }
    if (!check(parser, variable) || list->values.count > UINT32_MAX)
        return;
    variable->init_count = (unsigned)list->values.count;
    variable->inits = ARENA_ARRAY(parser->arena, Init, list->values.count);
    memcpy(variable->inits, list->values.data, list->values.count * sizeof *variable->inits);
    if (!list->numbers.count)
        return;
    uint64_t *numbers = ARENA_ARRAY(parser->arena, uint64_t, list->numbers.count);
    memcpy(numbers, list->numbers.data, list->numbers.count * sizeof *numbers);
    for (unsigned i = 0; i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_NUMBERS) {
            variable->inits[i].numbers = numbers;
            numbers += variable->inits[i].number_count;
        }
}
