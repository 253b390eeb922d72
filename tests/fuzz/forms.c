/* The scanner, the parser, the printed text, and the forms between them. */
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "lexer/lexer.h"
#include "parser/internal.h"
#include "tests/tools/random_values.h"

#include "forms.h"

static void name_compare(const char *text, Span span, const char *name, unsigned quotes)
{
    size_t length = span.end - span.begin - 2 * quotes;
    if (strlen(name) != length || memcmp(name, text + span.begin + quotes, length) != 0)
        property_broken("the token at %u has the name '%s'", span.begin, name);
}

void harness_lexer(const char *text, size_t size)
{
    Arena *arena = arena_new();
    Source *source = source_from_memory(arena, "input", text, size);
    FILE *nowhere = fopen("/dev/null", "w");
    Diag diag;
    diag_init(&diag, source, nowhere);
    Lexer *lexer = lexer_new(interner_new(arena, 0), source, &diag, parser_words, parser_word_count);
    TokenValue value = {0};
    Span span = {0}, last = {0};
    size_t tokens = 0;
    for (int kind; (kind = lexer_next(lexer, &value, &span)) != TOKEN_END; last = span) {
        if (++tokens > size + 1)
            property_broken("more tokens than bytes");
        if (span.begin > span.end || span.end > size || span.begin < last.end)
            property_broken("token %zu is at %u to %u, after one that ends at %u", tokens, span.begin, span.end,
                            last.end);
        if (kind == TOKEN_ERROR && diag.errors == 0)
            property_broken("an error at %u without a message", span.begin);
        if (kind == TOKEN_IDENTIFIER || kind == TOKEN_DOTTED || kind == TOKEN_SECTION_NAME || kind >= TOKEN_FIRST_WORD)
            name_compare(text, span, value.name, 0);
        if (kind == TOKEN_STRING)
            name_compare(text, span, value.name, 1);
    }
    for (unsigned i = 0; i < 3; i++)
        if (lexer_next(lexer, &value, &span) != TOKEN_END || span.end > size)
            property_broken("the text does not stay ended");
    lexer_free(lexer);
    fclose(nowhere);
    arena_free(arena);
}

/* The parser's verdict and messages on the text. */
static char *text_messages(const char *text, size_t size, bool grammar_only)
{
    char *messages = NULL;
    size_t length;
    Arena *arena = arena_new();
    FILE *out = open_memstream(&messages, &length);
    Diag diag;
    diag_init(&diag, source_from_memory(arena, "input", text, size), out);
    parse_module_with(arena, diag.source, &diag, &(ParseOptions){.grammar_only = grammar_only});
    fclose(out);
    arena_free(arena);
    return messages;
}

void harness_parser(const char *text, size_t size)
{
    module_discard(text_parse("input", text, size));
    char *messages = text_messages(text, size, false), *by_grammar = text_messages(text, size, true);
    if (strcmp(messages, by_grammar) != 0)
        property_broken("plain instructions make a difference:\n%s\nand, by the grammar:\n%s", messages, by_grammar);
    free(messages);
    free(by_grammar);
}

/* Every function (context NULL), or those whose names have an odd length, are kept as text. */
static bool keeps_some(void *context, const Function *function)
{
    return context && strlen(function->name) % 2 == 0;
}

/* A function that is kept as text is checked like the others, and its text means the same. */
static void verbatim_check(const Module *module, const char *text, size_t size, bool some)
{
    Arena *arena = arena_new();
    FILE *nowhere = fopen("/dev/null", "w");
    Diag diag;
    diag_init(&diag, source_from_memory(arena, "input", text, size), nowhere);
    ParseOptions options = {.keeps = keeps_some, .context = some ? &diag : NULL};
    Module *verbatim = parse_module_with(arena, diag.source, &diag, &options);
    if (!verbatim)
        property_broken("a text is accepted only where its functions are kept");
    Buf printed = {0};
    emit_module(verbatim, &printed);
    Module *copy = printed_parse("text of functions as they stand", &printed);
    const char *difference = module_difference(copy->arena, module, copy);
    if (difference)
        property_broken("the text of functions as they stand means something else: %s", difference);
    buf_free(&printed);
    fclose(nowhere);
    module_discard(copy);
    module_discard(verbatim);
}

void harness_text(const char *text, size_t size)
{
    Module *module = text_parse("input", text, size);
    if (!module)
        return;
    Buf printed = {0}, again = {0};
    emit_module(module, &printed);
    Module *copy = printed_parse("printed text", &printed);
    const char *difference = module_difference(copy->arena, module, copy);
    if (difference)
        property_broken("the printed text means something else: %s", difference);
    emit_module(copy, &again);
    texts_compare("printed twice", &printed, &again);
    module_discard(copy);
    verbatim_check(module, text, size, false);
    verbatim_check(module, text, size, true);

    buf_clear(&printed);
    emit_module_with(module, NULL, &printed);
    module_discard(printed_parse("text without debug information", &printed));
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || !item->function->is_entry || !item->function->has_body)
            continue;
        buf_clear(&printed);
        emit_module_with(module, &(FunctionForm){.function = item->function, .body = item->function->body}, &printed);
        module_discard(printed_parse("text of one kernel", &printed));
        break;
    }
    buf_free(&printed);
    buf_free(&again);
    module_discard(module);
}

static Function *function_at(const Module *module, size_t index)
{
    const Item *item = &module->items.data[index];
    return item->kind == ITEM_FUNCTION && item->function->has_body ? item->function : NULL;
}

static void take_bodies(const Module *module)
{
    for (size_t i = 0; i < module->items.count; i++) {
        Function *function = function_at(module, i);
        const char *reason = NULL;
        if (!function)
            continue;
        Body *body = body_build(function, &reason);
        if (!body && !reason)
            property_broken("%s has no body form and no reason is given", function->name);
        if (!body)
            continue;
        body_verify(body, "body_build");
        function_set_body(function, body);
    }
}

static void through_ssa(Function *function)
{
    Buf before = {0}, after = {0};
    body_to_ssa(function->body);
    body_verify(function->body, "body_to_ssa");
    Body *clone = body_clone(function->body);
    body_verify(clone, "body_clone");
    body_dump(function->body, &before);
    body_from_ssa(function->body);
    body_verify(function->body, "body_from_ssa");
    body_dump(clone, &after);
    texts_compare("a clone, after its original has changed", &before, &after);
    function_set_body(function, clone);
    body_from_ssa(clone);
    body_verify(clone, "body_from_ssa of a clone");
    buf_free(&before);
    buf_free(&after);
}

void harness_body(const char *text, size_t size)
{
    Module *module = text_parse("input", text, size);
    if (!module)
        return;
    Buf bodies = {0}, printed = {0}, again = {0};
    take_bodies(module);
    emit_module(module, &bodies);
    module_discard(printed_parse("text of the body form", &bodies));
    for (size_t i = 0; i < module->items.count; i++)
        if (function_at(module, i) && function_at(module, i)->body)
            through_ssa(function_at(module, i));
    emit_module(module, &printed);
    Module *copy = printed_parse("text that went through SSA form", &printed);
    take_bodies(copy);
    emit_module(copy, &again);
    texts_compare("body form of the body form", &printed, &again);
    module_discard(copy);
    module_discard(module);
    buf_free(&bodies);
    buf_free(&printed);
    buf_free(&again);
}

/* False: refused. */
static bool body_coarsen(Body **body, Random *random)
{
    static const Stride strides[] = {{STRIDE_BLOCK, 0}, {STRIDE_BLOCK, 0}, {STRIDE_UNIT, 0}, {STRIDE_NUMBER, 16}};
    unsigned given[3] = {0};
    static const GuardForm forms[] = {GUARDS_AUTO, GUARDS_SEQUENTIAL, GUARDS_FAST, GUARDS_PREDICATED};
    CoarsenRequest request = {.stride = strides[random_below(random, COUNT_OF(strides))],
                              .guards = forms[random_below(random, COUNT_OF(forms))]};
    request.shape.threads[random_below(random, 8) ? 0 : 1 + random_below(random, 2)] = 2u << random_below(random, 2);
    if (random_below(random, 2)) {
        given[0] = 64u << random_below(random, 3);
        given[1] = given[2] = 4;
    }
    request.block = block_size_resolve(&(*body)->tuning, given);
    LaunchContract contract;
    Refusal refusal = {0};
    Body *changed = body_clone(*body);
    if (!coarsen_body(changed, &request, &contract, &refusal, NULL)) {
        if (!is_refusal(&refusal))
            property_broken("coarsening is refused without a reason");
        body_free(changed);
        return false;
    }
    body_verify(changed, "coarsen_body");
    body_free(*body);
    *body = changed;
    contract_add_symbol((*body)->module, contract_symbol((*body)->module, &contract));
    return true;
}

/* Puts iterations of a loop side by side, if a random block begins one. */
static void body_jam(Body **body, Random *random)
{
    const Block *block = (*body)->blocks.data[random_below(random, (unsigned)(*body)->blocks.count)];
    const UnrollJam jam = {block->label, 2 + (unsigned)random_below(random, 3)};
    Refusal refusal = {0};
    if (!jam.loop)
        return;
    Body *changed = body_clone(*body);
    if (!unroll_and_jam(changed, &jam, &refusal)) {
        if (!is_refusal(&refusal))
            property_broken("unroll-and-jam is refused without a reason");
        body_free(changed);
        return;
    }
    body_verify(changed, "unroll_and_jam");
    body_free(*body);
    *body = changed;
}

static Body *body_change(Body *body, Random *random, bool coarsen)
{
    body_to_ssa(body);
    if (coarsen) {
        body_jam(&body, random);
        body_coarsen(&body, random);
    }
    for (unsigned moves = 1 + random_below(random, 4); moves > 0; moves--) {
        ScheduleRule rule = schedule_rule_random(random);
        unsigned kind = random_below(random, 8);
        switch (kind) {
        case 0: one_dead_code(body); break;
        case 1: one_merge(body); break;
        case 2: one_sink(body, (SinkMode)random_below(random, 3), random_below(random, 2)); break;
        case 3: random_values_recompute(body, random); break;
        case 4: one_hoist(body); break;
        case 5: one_offsets(body); break;
        case 6: one_pack(body, &(PackRequest){(int32_t)random_below(random, 8), UINT64_MAX}); break;
        default: one_schedule(body, &rule); break;
        }
        static const char *const names[] = {"remove_dead_code", "merge_equal_values", "sink_values",
                                            "rematerialize_values", "hoist_values", "offset_pointers", "pack_values",
                                            "schedule_body"};
        body_verify(body, names[kind]);
    }
    body_from_ssa(body);
    body_verify(body, "body_from_ssa");
    return body;
}

Random random_of_text(const char *text, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (Random){hash};
}

void module_change(Module *module, Random *random, bool coarsen)
{
    for (size_t i = 0, count = module->items.count; i < count; i++) {
        Function *function = function_at(module, i);
        const char *reason;
        Body *body = function && function->is_entry ? body_build(function, &reason) : NULL;
        if (body)
            function_set_body(function, body_change(body, random, coarsen));
    }
}

void harness_passes(const char *text, size_t size)
{
    Module *module = text_parse("input", text, size);
    if (!module)
        return;
    Random random = random_of_text(text, size);
    Buf printed = {0};
    module_change(module, &random, true);
    emit_module(module, &printed);
    module_discard(printed_parse("text after the passes", &printed));
    module_discard(module);
    buf_free(&printed);
}
