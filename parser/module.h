/* Module scope: the header (header.c) and the items that are neither functions nor variables (module.c). */
#ifndef PTXOPT_PARSER_MODULE_H
#define PTXOPT_PARSER_MODULE_H

#include "parser/token.h"

typedef struct ModuleHeader {
    bool has_target;
    unsigned sm; /* the highest of the targets */
    bool texmode_independent, texmode_unified;
    Span debug_span; /* of the target option 'debug'; empty if there is none */
} ModuleHeader;

void header_version(Parser *parser, Span number);
void header_target(Parser *parser, Name name, Span span);
void header_target_end(Parser *parser);
void header_address_size(Parser *parser, uint64_t bits, Span span);
/* Reports a feature that needs a newer .version or .target; 'minimum_sm' 0: any target will do. */
bool header_require(Parser *parser, Span span, const char *feature, unsigned version, unsigned minimum_sm);

typedef struct ModuleItems {
    bool has_section;
    Map files; /* from the index of a .file to its place */
} ModuleItems;

void module_file(Parser *parser, const Token *index, Name path, unsigned stamps, uint64_t time, uint64_t size,
                 Span span);
void module_section(Parser *parser, Name name, Span body, Span span);
void module_pragma(Parser *parser, Span span);
void module_alias(Parser *parser, const Token *alias, const Token *aliasee, Span span);
void module_dwarf_line(Parser *parser, Span span);
void module_end(Parser *parser);
/* A pragma of the strings collected last. */
Pragma *pragma_new(Parser *parser);
Item *module_add_item(Parser *parser, ItemKind kind, Span span);

#endif
