/* Reads ops.def: lines of '#' comments, rules, sets, groups and rows, as the head of that file describes them. */
#include "ir/table/generator/generator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Place place;
    List set_names, set_texts;
    /* The group in force. */
    char *category, *effects, *sync, *opcode, *prefix, *name, *since, *run;
    Rows rows;
} Reader;

/* Each line of a file, without its end. */
static List read_lines(const char *path)
{
    Place place = {.file = path};
    FILE *file = fopen(path, "r");
    if (!file)
        fail(place, "cannot be read");
    List lines = {0};
    Output line = {0};
    int c;
    while ((c = getc(file)) != EOF) {
        if (c != '\n') {
            output_add(&line, "%c", c);
            continue;
        }
        list_add(&lines, copy_n(line.text, line.length));
        line.length = 0;
    }
    if (ferror(file) || line.length)
        fail(place, "cannot be read, or does not end in a newline");
    fclose(file);
    return lines;
}

static List split_blanks(const char *text)
{
    List words = {0};
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        list_add(&words, copy_n(text, length));
        text += length;
    }
    return words;
}

/* Replaces each "@name" by the text of the set. */
static char *expand(const Reader *reader, const char *text)
{
    Output out = {0};
    output_add(&out, "%s", "");
    while (*text) {
        size_t length = strcspn(text, "@");
        output_add(&out, "%.*s", (int)length, text);
        text += length;
        if (!*text)
            break;
        length = 1;
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        char *name = copy_n(text + 1, length - 1);
        long set = list_find(&reader->set_names, name);
        if (set < 0)
            fail(reader->place, "unknown set '@%s'", name);
        output_add(&out, "%s", reader->set_texts.items[set]);
        text += length;
    }
    return out.text;
}

/* "8..256%8,512": the text once for each number, which replaces its 'N', with "|" between. */
static char *expand_numbers(const Reader *reader, const char *text, const char *numbers)
{
    const char *at = strchr(text, 'N');
    Output out = {0};
    if (!at)
        fail(reader->place, "'%s' has no 'N'", text);
    List ranges = split(numbers, ',');
    for (size_t i = 0; i < ranges.count; i++) {
        int low, high, step = 1, end = 0;
        if (sscanf(ranges.items[i], "%d..%d%n%%%d%n", &low, &high, &end, &step, &end) < 2 || ranges.items[i][end] ||
            step < 1)
            fail(reader->place, "malformed range '%s'", ranges.items[i]);
        for (int number = low; number <= high; number += step)
            output_add(&out, "%s%.*s%d%s", out.length ? "|" : "", (int)(at - text), text, number, at + 1);
    }
    return out.text;
}

static void read_set(Reader *reader, const List *words)
{
    bool numbered = words->count == 4 && !strncmp(words->items[3], "N=", 2);
    if (words->count != 3 && !numbered)
        fail(reader->place, "a set is 'set NAME TEXT'");
    if (list_find(&reader->set_names, words->items[1]) >= 0)
        fail(reader->place, "set '@%s' is defined twice", words->items[1]);
    char *text = expand(reader, words->items[2]);
    list_add(&reader->set_names, words->items[1]);
    list_add(&reader->set_texts, numbered ? expand_numbers(reader, text, words->items[3] + 2) : text);
}

/* The text after "KEY=", or NULL. */
static char *value_of(char *word, const char *key)
{
    size_t length = strlen(key);
    return !strncmp(word, key, length) && word[length] == '=' ? word + length + 1 : NULL;
}

static void read_group(Reader *reader, const List *words)
{
    size_t at = 3;
    if (words->count < at)
        fail(reader->place, "a group is 'group CATEGORY EFFECTS [SYNC] [KEY=VALUE ...]'");
    reader->category = words->items[1];
    reader->effects = words->items[2];
    reader->sync = "NONE";
    reader->opcode = reader->prefix = reader->name = reader->since = reader->run = NULL;
    if (at < words->count && !strchr(words->items[at], '='))
        reader->sync = words->items[at++];
    for (; at < words->count; at++) {
        char *word = words->items[at], *value;
        if ((value = value_of(word, "opcode"))) {
            size_t length = strcspn(value, ".({</");
            reader->opcode = reader->name = copy_n(value, length);
            reader->prefix = value + length;
        } else if ((value = value_of(word, "name"))) {
            reader->name = value;
        } else if ((value = value_of(word, "since"))) {
            reader->since = value;
        } else if ((value = value_of(word, "run"))) {
            reader->run = value;
        } else {
            fail(reader->place, "unknown key in '%s'", word);
        }
    }
}

static void read_rules(Reader *reader, const List *words)
{
    if (words->count < 3)
        fail(reader->place, "rules are 'rules OPCODE RULE ...'");
    char *rules = format_text("RULE_%s", words->items[2]);
    for (size_t i = 3; i < words->count; i++)
        rules = format_text("%s | RULE_%s", rules, words->items[i]);
    if (list_find(&reader->rows.ruled, words->items[1]) >= 0)
        fail(reader->place, "'%s' has rules already", words->items[1]);
    list_add(&reader->rows.ruled, words->items[1]);
    list_add(&reader->rows.rules, rules);
}

static char *row_id(const Reader *reader, char *word)
{
    if (*word != '.' && strcmp(word, "-") != 0)
        return word;
    if (!reader->name)
        fail(reader->place, "'%s' continues a name, but the group has none", word);
    return format_text("%s%s", reader->name, *word == '.' ? word : "");
}

/* Reads the rest of a row, after its operands: "1.0/sm_10 add until=1.3". */
static void read_rest(const Reader *reader, Row *row, const List *words)
{
    row->since = reader->since;
    row->run = reader->run ? reader->run : "-";
    row->guarded = true;
    for (size_t i = 3; i < words->count; i++) {
        char *word = words->items[i], *value;
        if (isdigit((unsigned char)*word))
            row->since = word;
        else if ((value = value_of(word, "until")))
            row->until = value;
        else if (!strcmp(word, "guard=no"))
            row->guarded = false;
        else if (!strcmp(word, "order=fixed"))
            row->fixed = true;
        else if (!strchr(word, '='))
            row->run = word;
        else
            fail(reader->place, "unknown key in '%s'", word);
    }
    if (!row->since)
        fail(reader->place, "'%s' has no version and target", row->id);
    row->since = expand(reader, row->since);
}

static void read_row(Reader *reader, const List *words)
{
    if (!reader->category)
        fail(reader->place, "a row before the first group");
    if (words->count < 3)
        fail(reader->place, "a row is 'ID MODIFIERS OPERANDS VERSION/TARGET [RUN] [KEY=VALUE ...]'");
    Row *row = must(calloc(1, sizeof *row));
    row->place = reader->place;
    row->id = row_id(reader, words->items[0]);
    row->opcode = reader->opcode ? reader->opcode : copy_n(row->id, strcspn(row->id, "."));
    row->category = reader->category;
    row->effects = reader->effects;
    row->sync = reader->sync;
    row->note = "";
    row->operands = strcmp(words->items[2], "-") ? expand(reader, words->items[2]) : "";
    read_rest(reader, row, words);
    const char *mods = strcmp(words->items[1], "-") ? words->items[1] : "";
    parse_elements(row, expand(reader, format_text("%s%s", reader->prefix ? reader->prefix : "", mods)));
    Rows *rows = &reader->rows;
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : 1024;
        rows->items = must(realloc(rows->items, rows->capacity * sizeof *rows->items));
    }
    rows->items[rows->count++] = row;
}

/* Appends the lines that continue a set, which begin with a blank. */
static char *join_continued(const List *lines, size_t *at)
{
    Output whole = {0};
    output_add(&whole, "%s", lines->items[*at]);
    while (*at + 1 < lines->count && lines->items[*at + 1][0] == ' ') {
        const char *line = lines->items[++*at];
        output_add(&whole, "%s", line + strspn(line, " "));
    }
    return whole.text;
}

static void read_notes(const char *path, Rows *rows)
{
    List lines = read_lines(path), ids = {0};
    for (size_t i = 0; i < rows->count; i++)
        list_add(&ids, rows->items[i]->id);
    for (size_t i = 0; i < lines.count; i++) {
        Place place = {path, (int)i + 1};
        const char *line = lines.items[i];
        size_t length = strcspn(line, " ");
        if (!*line || *line == '#')
            continue;
        long found = list_find(&ids, copy_n(line, length));
        if (found < 0)
            fail(place, "no row is called '%.*s'", (int)length, line);
        if (*rows->items[found]->note)
            fail(place, "'%.*s' has two notes", (int)length, line);
        rows->items[found]->note = copy(line + length + strspn(line + length, " "));
    }
    for (size_t i = 0; i < rows->count; i++)
        if (!*rows->items[i]->note)
            fail(rows->items[i]->place, "%s does not say what '%s' does", path, rows->items[i]->id);
}

static void check_ids(const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(rows->items[i]->id, rows->items[j]->id))
                fail(rows->items[i]->place, "'%s' is also the name of the row in line %d", rows->items[i]->id,
                     rows->items[j]->place.line);
}

Rows read_rows(const char *table_path, const char *notes_path)
{
    Reader reader = {.place = {table_path, 0}};
    List lines = read_lines(table_path);
    for (size_t i = 0; i < lines.count; i++) {
        reader.place.line = (int)i + 1;
        if (!lines.items[i][0] || lines.items[i][0] == '#')
            continue;
        if (lines.items[i][0] == ' ')
            fail(reader.place, "only a set continues on the next line");
        bool set = !strncmp(lines.items[i], "set ", 4);
        List words = split_blanks(set ? join_continued(&lines, &i) : lines.items[i]);
        if (set)
            read_set(&reader, &words);
        else if (!strcmp(words.items[0], "rules"))
            read_rules(&reader, &words);
        else if (!strcmp(words.items[0], "group"))
            read_group(&reader, &words);
        else
            read_row(&reader, &words);
    }
    check_ids(&reader.rows);
    read_notes(notes_path, &reader.rows);
    return reader.rows;
}
