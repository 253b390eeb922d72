/* .version, .target and .address_size: what ptxas 13.0 takes, newer versions and 32-bit addresses, and what a version
 * or target brings. */
#include <stdlib.h>
#include <string.h>

#include "parser/internal.h"

/* Chapter "Release Notes" of the PTX ISA; times 10. */
static const unsigned char versions[] = {10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41,
                                         42, 43, 50, 51, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74,
                                         75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

/* The .version that introduced a target: of the plain one, the architecture-specific (a) and the family-specific
 * (f). */
static const struct Architecture {
    unsigned short sm;
    unsigned char plain, specific, family; /* 0: there is none */
} architectures[] = {
    {10, 10, 0, 0},   {11, 10, 0, 0},   {12, 12, 0, 0},   {13, 12, 0, 0},   {20, 20, 0, 0},  {21, 20, 0, 0},
    {30, 30, 0, 0},   {32, 40, 0, 0},   {35, 31, 0, 0},   {37, 41, 0, 0},   {50, 40, 0, 0},  {52, 41, 0, 0},
    {53, 42, 0, 0},   {60, 50, 0, 0},   {61, 50, 0, 0},   {62, 50, 0, 0},   {70, 51, 0, 0},  {72, 61, 0, 0},
    {75, 63, 0, 0},   {80, 70, 0, 0},   {86, 71, 0, 0},   {87, 74, 0, 0},   {88, 73, 0, 0},  {89, 78, 0, 0},
    {90, 78, 80, 0},  {100, 86, 86, 88}, {101, 86, 86, 88}, {103, 88, 88, 88}, {110, 90, 90, 90}, {120, 87, 87, 88},
    {121, 88, 88, 88},
};

void header_version(Parser *parser, Span number)
{
    const char *text = parser->source->text + number.begin;
    unsigned long major = strtoul(text, NULL, 10);
    const char *dot = memchr(text, '.', number.end - number.begin);
    unsigned long minor = 0;
    bool good = dot != NULL;
    for (const char *digit = good ? dot + 1 : text; good && digit < parser->source->text + number.end; digit++) {
        good = *digit >= '0' && *digit <= '9' && minor < 100;
        minor = minor * 10 + (unsigned long)(*digit - '0');
    }
    good = good && dot + 1 < parser->source->text + number.end && major < 100 && minor < 10;
    unsigned version = good ? (unsigned)(major * 10 + minor) : 0;
    if (version > LATEST_VERSION) {
        diag_warning(parser->diag, number,
                     "PTX %.*s is newer than %u.%u, the latest known version; what is not known is kept "
                     "as it stands",
                     (int)(number.end - number.begin), text, LATEST_VERSION / 10, LATEST_VERSION % 10);
    } else if (version == 0 || memchr(versions, (int)version, sizeof versions) == NULL) {
        diag_error(parser->diag, number, "unknown PTX version %.*s; the latest known is %u.%u",
                   (int)(number.end - number.begin), text, LATEST_VERSION / 10, LATEST_VERSION % 10);
        version = LATEST_VERSION;
    }
    parser->module->version = version;
}

/* "sm_90a" or "compute_90a": its number and suffix (0: none).  False if the name has another form. */
static bool split_architecture(Name name, unsigned *sm, char *suffix)
{
    const char *digits;
    if (strncmp(name, "sm_", 3) == 0)
        digits = name + 3;
    else if (strncmp(name, "compute_", 8) == 0)
        digits = name + 8;
    else
        return false;
    char *end;
    unsigned long number = strtoul(digits, &end, 10);
    *sm = (unsigned)number;
    *suffix = *end;
    return *digits >= '0' && *digits <= '9' && number < 10000 &&
           (*end == 0 || (end[1] == 0 && (*end == 'a' || *end == 'f')));
}

static void report_target(Parser *parser, Name name, Span span)
{
    static const char *const known[] = {"texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"};
    const char *candidates[COUNT_OF(known) + 3 * COUNT_OF(architectures)];
    size_t count = 0;
    for (; count < COUNT_OF(known); count++)
        candidates[count] = known[count];
    for (size_t i = 0; i < COUNT_OF(architectures); i++) {
        candidates[count++] = arena_printf(parser->scratch, "sm_%u", architectures[i].sm);
        if (architectures[i].specific)
            candidates[count++] = arena_printf(parser->scratch, "sm_%ua", architectures[i].sm);
        if (architectures[i].family)
            candidates[count++] = arena_printf(parser->scratch, "sm_%uf", architectures[i].sm);
    }
    const char *closest = closest_word(name, candidates, count);
    if (closest)
        diag_error(parser->diag, span, "unknown target '%s'; did you mean '%s'?", name, closest);
    else
        diag_error(parser->diag, span, "unknown target '%s'", name);
}

static void add_architecture(Parser *parser, Name name, unsigned sm, char suffix, Span span)
{
    for (size_t i = 0; i < COUNT_OF(architectures); i++) {
        const struct Architecture *architecture = &architectures[i];
        if (architecture->sm != sm)
            continue;
        unsigned needed = suffix == 'a'   ? architecture->specific
                          : suffix == 'f' ? architecture->family
                                          : architecture->plain;
        if (needed == 0)
            break;
        if (parser->module->version < needed)
            diag_error(parser->diag, span, "target '%s' needs .version %u.%u or newer", name, needed / 10, needed % 10);
        if (sm > parser->sm)
            parser->sm = sm;
        return;
    }
    if (parser->module->version > LATEST_VERSION) {
        diag_warning(parser->diag, span, "target '%s' is not known", name);
        parser->sm = sm > parser->sm ? sm : parser->sm;
        return;
    }
    report_target(parser, name, span);
    /* So that what follows is not taken for something the target cannot do. */
    parser->sm = architectures[COUNT_OF(architectures) - 1].sm;
}

void header_target(Parser *parser, Name name, Span span)
{
    unsigned sm;
    char suffix;
    if (split_architecture(name, &sm, &suffix)) {
        add_architecture(parser, name, sm, suffix, span);
    } else if (parser->sm == 0) {
        diag_error(parser->diag, span, "the first target is an architecture such as sm_90, not '%s'", name);
        parser->sm = architectures[COUNT_OF(architectures) - 1].sm;
    } else if (strcmp(name, "texmode_unified") == 0 || strcmp(name, "texmode_independent") == 0) {
        parser->texmode_independent |= name[8] == 'i';
        parser->texmode_unified |= name[8] == 'u';
        if (parser->texmode_independent && parser->texmode_unified)
            diag_error(parser->diag, span, "'%s' contradicts the other texture mode", name);
    } else if (strcmp(name, "debug") == 0) {
        parser->debug_span = span;
    } else if (strcmp(name, "map_f64_to_f32") == 0) {
        if (parser->sm >= 13)
            diag_error(parser->diag, span, "'map_f64_to_f32' is for targets older than sm_13");
    } else {
        report_target(parser, name, span);
    }
    VEC_PUSH(parser->scratch, parser->strings, name);
}

void header_target_end(Parser *parser)
{
    Module *module = parser->module;
    module->target_count = (unsigned)parser->strings.count;
    module->targets = ARENA_ARRAY(parser->arena, Name, parser->strings.count);
    if (module->target_count > 0)
        memcpy(module->targets, parser->strings.data, parser->strings.count * sizeof(Name));
    parser->has_target = true;
}

void header_address_size(Parser *parser, uint64_t bits, Span span)
{
    if (bits != 64 && bits != 32) {
        diag_error(parser->diag, span, "the address size is 32 or 64");
        bits = 64;
    }
    parser->module->address_size = (unsigned)bits;
}

bool header_require(Parser *parser, Span span, const char *feature, unsigned version, unsigned minimum_sm)
{
    if (parser->module->version < version) {
        diag_error(parser->diag, span, "%s needs .version %u.%u or newer", feature, version / 10, version % 10);
        return false;
    }
    if (parser->sm < minimum_sm) {
        diag_error(parser->diag, span, "%s needs .target sm_%u or newer", feature, minimum_sm);
        return false;
    }
    return true;
}
