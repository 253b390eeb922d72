/* The directives, types and state spaces that are tokens of their own. */
#include "parser/internal.h"
#include "parser/ptx_parser.h"

#define DIRECTIVE(text, token, word) {text, T_##token, DIRECTIVE_##word}

const Word parser_words[] = {
#define X(id, spelling, bits, class) {"." spelling, T_TYPE, TYPE_##id},
    TYPE_LIST(X)
#undef X
    {".const", T_SPACE, SPACE_CONST},
    {".global", T_SPACE, SPACE_GLOBAL},
    {".local", T_SPACE, SPACE_LOCAL},
    {".param", T_SPACE, SPACE_PARAM},
    {".shared", T_SPACE, SPACE_SHARED},
    {".tex", T_SPACE, SPACE_TEX},
    {".reg", T_REG, SPACE_REG},
    {".v2", T_VECTOR, 2},
    {".v4", T_VECTOR, 4},
    {".extern", T_LINKAGE, LINKAGE_EXTERN},
    {".visible", T_LINKAGE, LINKAGE_VISIBLE},
    {".weak", T_LINKAGE, LINKAGE_WEAK},
    {".common", T_LINKAGE, LINKAGE_COMMON},
    {".version", T_VERSION, 0},
    {".target", T_TARGET, 0},
    {".address_size", T_ADDRESS_SIZE, 0},
    {".entry", T_ENTRY, 0},
    {".func", T_FUNC, 0},
    {".file", T_FILE_INDEX, 0},
    {".loc", T_LOC, 0},
    {".pragma", T_PRAGMA, 0},
    {".alias", T_ALIAS, 0},
    {".align", T_ALIGN, 0},
    {".attribute", T_ATTRIBUTE, 0},
    {".ptr", T_PTR, 0},
    {".branchtargets", T_BRANCHTARGETS, 0},
    {".calltargets", T_CALLTARGETS, 0},
    {".callprototype", T_CALLPROTOTYPE, 0},
    DIRECTIVE(".maxnreg", LIMIT, MAXNREG),
    DIRECTIVE(".minnctapersm", LIMIT, MINNCTAPERSM),
    DIRECTIVE(".maxnctapersm", LIMIT, MAXNCTAPERSM),
    DIRECTIVE(".maxclusterrank", LIMIT, MAXCLUSTERRANK),
    DIRECTIVE(".maxntid", SHAPE, MAXNTID),
    DIRECTIVE(".reqntid", SHAPE, REQNTID),
    DIRECTIVE(".reqnctapercluster", SHAPE, REQNCTAPERCLUSTER),
    DIRECTIVE(".explicitcluster", FLAG, EXPLICITCLUSTER),
    DIRECTIVE(".blocksareclusters", FLAG, BLOCKSARECLUSTERS),
    DIRECTIVE(".noreturn", NORETURN, NORETURN),
    DIRECTIVE(".abi_preserve", ABI, ABI_PRESERVE),
    DIRECTIVE(".abi_preserve_control", ABI, ABI_PRESERVE_CONTROL),
};
const size_t parser_word_count = COUNT_OF(parser_words);
