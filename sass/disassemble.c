/* The facts that only nvdisasm tells: the text of instructions, and the number of live registers. For each section of
 * code, it prints a line ".section .text.NAME", and for each instruction "/<*ADDRESS*>/ TEXT ; // | LIVE | ..."
 * (without <>). */
#include "sass/internal.h"

#include <stdlib.h>
#include <string.h>

#define LIVE_MARK "// |"

/* The line's instruction; NULL if it has none, or one of another section. */
static SassInstruction *line_instruction(SassCode *code, const SassFunction *function, const char *line,
                                            const char **text)
{
    line += strspn(line, " \t");
    if (strncmp(line, "/*", 2) != 0)
        return NULL;
    char *end;
    unsigned long address = strtoul(line + 2, &end, 16);
    if (end == line + 2 || strncmp(end, "*/", 2) != 0)
        return NULL;
    *text = end + 2 + strspn(end + 2, " \t");
    uint64_t index = function->first + address / MACHINE_BYTES;
    return index < code->count && code->instructions[index].address == address ? &code->instructions[index] : NULL;
}

/* The mnemonic in "@!P0 IMAD.WIDE R2, ...": the longest name of the table that it begins with. */
static void name_unknown(SassCode *code, SassInstruction *instruction)
{
    const char *text = instruction->text;
    if (*text == '@')
        text += strcspn(text, " ") + 1;
    size_t length = strcspn(text, " .");
    if (!sass_name_lookup(text, length, instruction))
        return;
    code->unknown--;
}

/* Gives the line's instruction, or NULL. */
static SassInstruction *take_line(Arena *arena, SassCode *code, const SassFunction *function, const char *line)
{
    const char *text;
    SassInstruction *instruction = line_instruction(code, function, line, &text);
    if (!instruction)
        return NULL;
    instruction->text = arena_strndup(arena, text, strcspn(text, ";\n"));
    for (char *end = (char *)instruction->text + strlen(instruction->text);
         end > instruction->text && end[-1] == ' ';)
        *--end = 0;
    const char *live = memmem(text, strcspn(text, "\n"), LIVE_MARK, sizeof LIVE_MARK - 1);
    if (live)
        instruction->live = (uint16_t)strtoul(live + sizeof LIVE_MARK - 1, NULL, 10);
    if (strcmp(instruction->mnemonic, "?") == 0)
        name_unknown(code, instruction);
    return instruction;
}

/* The first function of the section that a line names; NULL if it is not among the code. */
static const SassFunction *find_section(const SassCode *code, const char *name)
{
    size_t length = strcspn(name, ",\n");
    for (uint32_t f = 0; f < code->function_count; f++)
        if (strlen(code->functions[f].section) == length && strncmp(code->functions[f].section, name, length) == 0)
            return &code->functions[f];
    return NULL;
}

/* Reads what nvdisasm has printed; 'ranges' may be NULL. */
static void take_text(Arena *arena, SassCode *code, SassRanges *ranges, const char *printed)
{
    static const char section[] = "\t.section\t";
    RangeHeading *heading = ARENA_NEW(arena, RangeHeading);
    const SassFunction *function = NULL;
    for (const char *line = printed; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        SassInstruction *instruction = NULL;
        if (strncmp(line, section, sizeof section - 1) == 0)
            function = find_section(code, line + sizeof section - 1);
        else if (function)
            instruction = take_line(arena, code, function, line);
        if (ranges && instruction)
            ranges_take(ranges, heading, (uint32_t)(instruction - code->instructions), line);
        else if (ranges)
            range_heading_take(heading, line);
    }
}

const char *sass_listing(Arena *arena, const Disassembler *disassembler, const void *cubin, size_t size, SassLife life,
                         const char **message)
{
    const char *const mode = life == LIFE_RANGES ? "narrow" : "count";
    const char *const options[] = {"-c", life == LIFE_NONE ? NULL : "-lrm", mode, NULL};
    Buf printed = {0};
    *message = disassembler_run(disassembler, arena, cubin, size, options, &printed);
    const char *listing = *message ? NULL : arena_strndup(arena, buf_text(&printed), printed.length);
    buf_free(&printed);
    return listing;
}

void sass_code_take_listing(Arena *arena, SassCode *code, const char *listing, SassLife life)
{
    SassRanges *ranges = life == LIFE_RANGES ? ranges_new(arena, code, listing) : NULL;
    take_text(arena, code, ranges, listing);
    if (ranges)
        ranges_trim(ranges, code->count);
    code->ranges = ranges;
}

const char *sass_code_disassemble(Arena *arena, SassCode *code, const Disassembler *disassembler, const void *cubin,
                                  size_t size, SassLife life)
{
    const char *message;
    const char *listing = sass_listing(arena, disassembler, cubin, size, life, &message);
    if (listing)
        sass_code_take_listing(arena, code, listing, life);
    return message;
}
