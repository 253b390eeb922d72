/* Constant expressions; PTX ISA, section "Constant Expressions". Integers are .s64 or .u64 and mix as in C;
 * everything wraps modulo 2^64. This differs from C as ptxas does: '~' and '%' have .u64 operands and results,
 * shift counts are modulo 64, and "?:" has the type of the operand it selects. Decimal floating-point numbers are
 * doubles and do not mix with integers. 0f and 0d literals cannot be operands. */
#include <string.h>

#include "parser/internal.h"
#include "parser/ptx_parser.h"

ConstantValue constant_integer(uint64_t bits, bool is_unsigned)
{
    return (ConstantValue){.bits = bits, .kind = CONSTANT_INT, .is_unsigned = is_unsigned};
}

ConstantValue constant_literal(ConstantKind kind, uint64_t bits)
{
    return (ConstantValue){.bits = bits, .kind = (uint8_t)kind};
}

static ConstantValue bad_constant(void)
{
    return (ConstantValue){.kind = CONSTANT_INT, .bad = true};
}

static double as_double(ConstantValue value)
{
    double number;
    memcpy(&number, &value.bits, sizeof number);
    return number;
}

static ConstantValue from_double(double number)
{
    ConstantValue value = {.kind = CONSTANT_DECIMAL};
    memcpy(&value.bits, &number, sizeof number);
    return value;
}

static bool is_exact(ConstantValue value)
{
    return value.kind == CONSTANT_F32 || value.kind == CONSTANT_F64;
}

bool constant_is_integer(Diag *diag, ConstantValue value, Span span)
{
    if (value.bad)
        return false;
    if (value.kind != CONSTANT_INT)
        diag_error(diag, span, "this must be an integer");
    return value.kind == CONSTANT_INT;
}

/* Parentheses around the operand are not around the result. */
ConstantValue constant_unary(Diag *diag, int operation, ConstantValue operand, Span span)
{
    operand.parenthesised = false;
    if (operand.bad)
        return operand;
    if (is_exact(operand)) {
        diag_error(diag, span, "a 0f or 0d literal cannot have a sign or be an operand of an operator");
        return bad_constant();
    }
    if (operand.kind == CONSTANT_DECIMAL) {
        if (operation == '-')
            return from_double(-as_double(operand));
        if (operation == '+')
            return operand;
        diag_error(diag, span, "the operand of '%c' must be an integer", operation);
        return bad_constant();
    }
    switch (operation) {
    case '-': operand.bits = -operand.bits; break;
    case '~': operand = constant_integer(~operand.bits, true); break;
    case '!': operand = constant_integer(operand.bits == 0, false); break;
    default: break;
    }
    return operand;
}

static ConstantValue float_binary(Diag *diag, int operation, double left, double right, Span span)
{
    switch (operation) {
    case '+': return from_double(left + right);
    case '-': return from_double(left - right);
    case '*': return from_double(left * right);
    case '/':
        if (right == 0) {
            diag_error(diag, span, "division by zero");
            return bad_constant();
        }
        return from_double(left / right);
    default: diag_error(diag, span, "the operands of this operator must be integers"); return bad_constant();
    }
}

static uint64_t divide(uint64_t left, uint64_t right, bool is_unsigned)
{
    if (is_unsigned)
        return left / right;
    if (right == UINT64_MAX) /* -1: the one divisor whose quotient may overflow */
        return -left;
    return (uint64_t)((int64_t)left / (int64_t)right);
}

static bool less(uint64_t left, uint64_t right, bool is_unsigned)
{
    return is_unsigned ? left < right : (int64_t)left < (int64_t)right;
}

static uint64_t shift_right(uint64_t value, uint64_t count, bool is_unsigned)
{
    bool negative = !is_unsigned && (int64_t)value < 0;
    return negative ? ~(~value >> count % 64) : value >> count % 64;
}

static ConstantValue integer_binary(Diag *diag, int operation, ConstantValue left, ConstantValue right, Span span)
{
    uint64_t a = left.bits, b = right.bits;
    bool is_unsigned = left.is_unsigned || right.is_unsigned;
    switch (operation) {
    case '+': return constant_integer(a + b, is_unsigned);
    case '-': return constant_integer(a - b, is_unsigned);
    case '*': return constant_integer(a * b, is_unsigned);
    case '/':
    case '%':
        if (b == 0) {
            diag_error(diag, span, "division by zero");
            return bad_constant();
        }
        return operation == '%' ? constant_integer(a % b, true)
                                : constant_integer(divide(a, b, is_unsigned), is_unsigned);
    case '&': return constant_integer(a & b, is_unsigned);
    case '|': return constant_integer(a | b, is_unsigned);
    case '^': return constant_integer(a ^ b, is_unsigned);
    case T_SHIFT_LEFT: return constant_integer(a << b % 64, left.is_unsigned);
    case T_SHIFT_RIGHT: return constant_integer(shift_right(a, b, left.is_unsigned), left.is_unsigned);
    case '<': return constant_integer(less(a, b, is_unsigned), false);
    case '>': return constant_integer(less(b, a, is_unsigned), false);
    case T_LESS_EQUAL: return constant_integer(!less(b, a, is_unsigned), false);
    case T_GREATER_EQUAL: return constant_integer(!less(a, b, is_unsigned), false);
    case T_EQUAL: return constant_integer(a == b, false);
    case T_NOT_EQUAL: return constant_integer(a != b, false);
    case T_AND: return constant_integer(a != 0 && b != 0, false);
    case T_OR: return constant_integer(a != 0 || b != 0, false);
    default: bug("operation %d", operation);
    }
}

ConstantValue constant_binary(Diag *diag, int operation, ConstantValue left, ConstantValue right, Span span)
{
    if (left.bad || right.bad)
        return bad_constant();
    if (is_exact(left) || is_exact(right)) {
        diag_error(diag, span, "a 0f or 0d literal cannot have a sign or be an operand of an operator");
        return bad_constant();
    }
    if (left.kind != right.kind) {
        diag_error(diag, span, "integers and floating-point numbers do not mix");
        return bad_constant();
    }
    if (left.kind == CONSTANT_DECIMAL)
        return float_binary(diag, operation, as_double(left), as_double(right), span);
    return integer_binary(diag, operation, left, right, span);
}

ConstantValue constant_select(Diag *diag, ConstantValue condition, ConstantValue left, ConstantValue right,
                              Span span)
{
    if (condition.bad || left.bad || right.bad)
        return bad_constant();
    if (condition.kind != CONSTANT_INT || left.kind != CONSTANT_INT || right.kind != CONSTANT_INT) {
        diag_error(diag, span, "the operands of '?:' must be integers");
        return bad_constant();
    }
    ConstantValue selected = condition.bits ? left : right;
    return constant_integer(selected.bits, selected.is_unsigned);
}

ConstantValue constant_cast(Diag *diag, Type type, ConstantValue operand, Span span)
{
    if (operand.bad)
        return operand;
    if (type != TYPE_S64 && type != TYPE_U64) {
        diag_error(diag, span, "a constant can be cast only to .s64 or .u64");
        return bad_constant();
    }
    if (!constant_is_integer(diag, operand, span))
        return bad_constant();
    return constant_integer(operand.bits, type == TYPE_U64);
}

/* The text with each run of blanks and comments replaced by one blank: "7 % 4" must not become "7%4". */
static Name normalized(Parser *parser, const char *text, size_t length)
{
    bool plain = true;
    for (size_t i = 0; i < length; i++)
        plain &= text[i] > ' ' && text[i] != '/';
    if (plain)
        return intern_n(parser->names, text, length);

    char *copy = ARENA_ARRAY(parser->scratch, char, length + 1);
    size_t end = 0;
    for (size_t i = 0; i < length;) {
        size_t start = i;
        while (i < length) {
            if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')) {
                i++;
            } else if (text[i] == '/' && i + 1 < length && text[i + 1] == '/') {
                while (i < length && text[i] != '\n')
                    i++;
            } else if (text[i] == '/' && i + 1 < length && text[i + 1] == '*') {
                for (i += 2; i + 1 < length && (text[i] != '*' || text[i + 1] != '/'); i++)
                    ;
                i += 2;
            } else {
                break;
            }
        }
        if (i > start)
            copy[end++] = ' ';
        if (i < length)
            copy[end++] = text[i++];
    }
    return intern_n(parser->names, copy, end);
}

/* Decimal digits that printing the value would reproduce. */
static bool is_plain_decimal(ConstantValue value, const char *text, size_t length)
{
    if (value.kind != CONSTANT_INT || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length < 20; /* and is not truncated */
}

Constant constant_value(Parser *parser, ConstantValue value, Span span)
{
    const char *text = parser->source->text + span.begin;
    size_t length = span.end - span.begin;
    Constant constant = {.kind = (ConstantKind)value.kind, .is_unsigned = value.is_unsigned, .bits = value.bits};
    if (!is_plain_decimal(value, text, length))
        constant.spelling = normalized(parser, text, length);
    return constant;
}

Constant *constant_new(Parser *parser, ConstantValue value, Span span)
{
    Name spelling = normalized(parser, parser->source->text + span.begin, span.end - span.begin);
    Constant **slot = &parser->constants.slots[((uintptr_t)spelling >> 4) % COUNT_OF(parser->constants.slots)];
    if (*slot && (*slot)->spelling == spelling)
        return *slot;
    Constant *constant = ARENA_NEW(parser->arena, Constant);
    *constant = (Constant){.kind = (ConstantKind)value.kind, .is_unsigned = value.is_unsigned, .bits = value.bits,
                           .spelling = spelling};
    *slot = constant;
    return constant;
}
