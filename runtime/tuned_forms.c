/* The forms that -tune leaves beside a kernel, as the module's table names them (docs/formats.md). */
#include <stdlib.h>

#include "runtime/tuning.h"

enum { TUNE_MAGIC = PTXOPT_FORMS_MAGIC, TUNE_FORMAT = 1, FIXED_FORMAT = 2, TUNE_HEADER = 32 };

Mode tuning_mode(void)
{
    static Mode known;
    Mode mode = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (mode != MODE_UNKNOWN)
        return mode;
    const char *word = getenv("PTXOPT_TUNE");
    mode = !word || !*word || strcmp(word, "learn") == 0 ? MODE_LEARN : strcmp(word, "use") == 0 ? MODE_USE : MODE_OFF;
    if (mode == MODE_OFF && strcmp(word, "off") != 0)
        fprintf(stderr, "ptxopt: warning: PTXOPT_TUNE=%s: expected 'learn', 'use' or 'off', which is assumed\n", word);
    __atomic_store_n(&known, mode, __ATOMIC_RELAXED);
    return mode;
}

/* Sets the launches after the texts of a table of the second format; false if they are not all there. */
static bool read_fixed(Tuning *tuning, const char *at, const char *end, uint32_t count)
{
    enum { BYTES = FIXED_WORDS * sizeof(uint32_t) };
    if ((size_t)(end - at) != (size_t)count * BYTES)
        return false;
    tuning->is_fixed = true;
    tuning->fixed = at;
    tuning->fixed_count = count;
    return true;
}

/* Sets when the forms of a table of the third format pay; false if it is not whole. */
static bool read_preferred(Tuning *tuning, size_t size)
{
    tuning->is_preferred = true;
    tuning->first = 0;
    for (unsigned i = 1; i <= tuning->form_count; i++)
        if (!ptxopt_form_words(tuning->table, size, i, tuning->when[i - 1]))
            return false;
    return tuning->form_count > 0;
}

/* Sets the words of the forms that the table names; false if it is of another format. */
static bool read_table(Tuning *tuning, size_t size)
{
    uint32_t header[TUNE_HEADER / sizeof(uint32_t)];
    if (size <= TUNE_HEADER)
        return false;
    memcpy(header, tuning->table, sizeof header);
    if (header[0] != TUNE_MAGIC || header[1] < TUNE_FORMAT || header[1] > PTXOPT_FORMS_FORMAT ||
        header[2] > MOST_TUNED || header[3] > header[2])
        return false;
    const char *at = tuning->table + TUNE_HEADER, *end = tuning->table + size;
    tuning->form_count = header[2];
    tuning->first = header[3];
    tuning->hash = header[4] | (uint64_t)header[5] << 32;
    tuning->words[0] = "";
    for (unsigned i = 1; i <= tuning->form_count; i++) {
        const char *zero = memchr(at, 0, (size_t)(end - at));
        if (!zero)
            return false;
        tuning->words[i] = at;
        at = zero + 1;
    }
    if (header[1] == PTXOPT_FORMS_FORMAT)
        return read_preferred(tuning, size);
    return header[1] == TUNE_FORMAT || read_fixed(tuning, at, end, header[6]);
}

static bool read_forms(Tuning *tuning, const Contract *contract, void *module, void *library)
{
    bool all = true;
    for (unsigned i = 0; i < tuning->form_count && all; i++) {
        const size_t size = strlen(contract->kernel) + sizeof "__ptxopt_form" + 4;
        char *name = malloc(size);
        if (!name)
            return false;
        snprintf(name, size, "%s__ptxopt_form%u", contract->kernel, i + 1);
        all = form_read(contract->driver, module, library, name, &tuning->forms[i]);
        free(name);
    }
    return all;
}

static Tuning *tunings;
static pthread_mutex_t tunings_lock = PTHREAD_MUTEX_INITIALIZER;

static void list_add(Tuning *tuning)
{
    pthread_mutex_lock(&tunings_lock);
    tuning->next = tunings;
    tunings = tuning;
    pthread_mutex_unlock(&tunings_lock);
}

static void list_remove(const Tuning *tuning)
{
    pthread_mutex_lock(&tunings_lock);
    Tuning **place = &tunings;
    while (*place && *place != tuning)
        place = &(*place)->next;
    if (*place)
        *place = tuning->next;
    pthread_mutex_unlock(&tunings_lock);
}

void tuning_free(Tuning *tuning)
{
    list_remove(tuning);
    for (unsigned i = 0; tuning && i < tuning->form_count; i++)
        free(tuning->forms[i].kernel);
    if (tuning)
        free(tuning->table);
    free(tuning);
}

void tuning_read(Contract *contract, void *module, void *library)
{
    size_t size = 0;
    Tuning *tuning = calloc(1, sizeof *tuning);
    if (!tuning)
        return;
    tuning->table = variable_read(contract->driver, module, library, "__ptxopt_tune_", contract->kernel, &size);
    if (!tuning->table || !read_table(tuning, size) || !read_forms(tuning, contract, module, library)) {
        tuning_free(tuning);
        return;
    }
    pthread_mutex_init(&tuning->lock, NULL);
    if (tuning->first) {
        const Contract *form = &tuning->forms[tuning->first - 1];
        contract->is_coarsened = contract->is_beside = true;
        memcpy(contract->words, form->words, sizeof contract->words);
        contract->other = form->other;
        contract->function = form->function;
    }
    if (!tuning->is_fixed && !tuning->is_preferred && tuning_mode() == MODE_OFF) {
        tuning_free(tuning);
        return;
    }
    if (!contract->driver->current_device || contract->driver->current_device(&tuning->device))
        tuning->device = 0;
    contract->tuning = tuning;
    tuning->contract = contract;
    list_add(tuning);
}

Contract *tuning_form(const Tuning *tuning, unsigned number)
{
    return number >= 1 && number <= tuning->form_count ? (Contract *)&tuning->forms[number - 1] : NULL;
}

bool tuning_is_preferred(const Contract *contract)
{
    return contract && contract->tuning && contract->tuning->is_preferred;
}

Contract *tuning_preferred(const Contract *contract, unsigned *number, const LaunchShape *launch,
                           LaunchShape *adapted, unsigned multiprocessors, void *const *parameters)
{
    const Tuning *tuning = contract->tuning;
    while (++*number <= tuning->form_count) {
        Contract *form = tuning_form(tuning, *number);
        *adapted = *launch;
        if (ptxopt_form_pays(tuning->when[*number - 1], launch->grid, launch->block, multiprocessors, parameters) &&
            form_adapt(form, adapted))
            return form;
    }
    return NULL;
}

void tuning_each(void (*visit)(Contract *contract, unsigned long long context), unsigned long long context)
{
    pthread_mutex_lock(&tunings_lock);
    for (const Tuning *tuning = tunings; tuning; tuning = tuning->next)
        visit(tuning->contract, context);
    pthread_mutex_unlock(&tunings_lock);
}
