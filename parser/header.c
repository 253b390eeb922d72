/* .version, .target and .address_size. Accepted are those of ptxas 13.5, newer versions (with a warning), and 32-bit
 * addresses. */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"
#include "parser/internal.h"

/* Times 10; PTX ISA, chapter "Release Notes". */
static const unsigned char versions[] = {10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41,
                                         42, 43, 50, 51, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74,
                                         75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90, 91,
                                         92, 93, 94, 95};

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
                     "PTX %.*s is newer than %u.%u, the latest known version; unknown instructions are kept "
                     "as they are",
                     (int)(number.end - number.begin), text, LATEST_VERSION / 10, LATEST_VERSION % 10);
    } else if (version == 0 || memchr(versions, (int)version, sizeof versions) == NULL) {
        diag_error(parser->diag, number, "unknown PTX version %.*s; the latest known is %u.%u",
                   (int)(number.end - number.begin), text, LATEST_VERSION / 10, LATEST_VERSION % 10);
        version = LATEST_VERSION;
    }
    parser->module->version = version;
    lexer_set_version(parser->lexer, version);
}

static void report_target(Parser *parser, Name name, Span span)
{
    static const char *const known[] = {"texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"};
    static const char suffixes[] = {0, 'a', 'f'};
    size_t architecture_count, count = 0;
    const Architecture *architectures = architecture_list(&architecture_count);
    const char **candidates =
        ARENA_ARRAY(parser->scratch, const char *, COUNT_OF(known) + COUNT_OF(suffixes) * architecture_count);
    for (; count < COUNT_OF(known); count++)
        candidates[count] = known[count];
    for (size_t i = 0; i < architecture_count; i++) {
        for (size_t s = 0; s < COUNT_OF(suffixes); s++) {
            if (!architecture_version(&architectures[i], suffixes[s]))
                continue;
            ArchNames names = arch_names((Arch){architectures[i].number, suffixes[s]});
            candidates[count++] = arena_printf(parser->scratch, "%s", names.real);
        }
    }
    const char *closest = closest_word(name, candidates, count);
    if (closest)
        diag_error(parser->diag, span, "unknown target '%s'; did you mean '%s'?", name, closest);
    else
        diag_error(parser->diag, span, "unknown target '%s'", name);
}

/* The newest architecture: after an error in a target, nothing is reported as beyond the target. */
static unsigned newest_architecture(void)
{
    size_t count;
    return architecture_list(&count)[count - 1].number;
}

static void add_architecture(Parser *parser, Name name, Arch arch, Span span)
{
    ModuleHeader *header = &parser->header;
    const Architecture *architecture = architecture_find(arch.number);
    unsigned needed = architecture ? architecture_version(architecture, arch.suffix) : 0;
    if (needed > 0) {
        if (parser->module->version < needed)
            diag_error(parser->diag, span, "target '%s' needs .version %u.%u or newer", name, needed / 10, needed % 10);
    } else if (parser->module->version > LATEST_VERSION) {
        diag_warning(parser->diag, span, "unknown target '%s'", name);
    } else {
        report_target(parser, name, span);
        header->sm = newest_architecture();
    }
    if (arch.number > header->sm)
        header->sm = arch.number;
}

void header_target(Parser *parser, Name name, Span span)
{
    ModuleHeader *header = &parser->header;
    Arch arch;
    if (arch_parse(name, &arch)) {
        add_architecture(parser, name, arch, span);
    } else if (header->sm == 0) {
        diag_error(parser->diag, span, "the first target must be an architecture such as sm_90, not '%s'", name);
        header->sm = newest_architecture();
    } else if (strcmp(name, "texmode_unified") == 0 || strcmp(name, "texmode_independent") == 0) {
        header->texmode_independent |= name[8] == 'i';
        header->texmode_unified |= name[8] == 'u';
        if (header->texmode_independent && header->texmode_unified)
            diag_error(parser->diag, span, "'%s' contradicts the other texture mode", name);
    } else if (strcmp(name, "debug") == 0) {
        header->debug_span = span;
    } else if (strcmp(name, "map_f64_to_f32") == 0) {
        if (header->sm >= 13)
            diag_error(parser->diag, span, "'map_f64_to_f32' is for targets older than sm_13");
    } else {
        report_target(parser, name, span);
    }
    VEC_PUSH(parser->scratch, parser->lists.strings, name);
}

void header_target_end(Parser *parser)
{
    Module *module = parser->module;
    module->target_count = (unsigned)parser->lists.strings.count;
    module->targets = ARENA_ARRAY(parser->arena, Name, parser->lists.strings.count);
    if (module->target_count > 0)
        memcpy(module->targets, parser->lists.strings.data, parser->lists.strings.count * sizeof(Name));
    parser->header.has_target = true;
}

void header_address_size(Parser *parser, uint64_t bits, Span span)
{
    if (bits != 64 && bits != 32) {
        diag_error(parser->diag, span, "the address size must be 32 or 64");
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
    if (parser->header.sm < minimum_sm) {
        diag_error(parser->diag, span, "%s needs .target sm_%u or newer", feature, minimum_sm);
        return false;
    }
    return true;
}
