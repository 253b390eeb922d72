/* Launches with the same numbers on the same device. They are found without a lock, and stay until the program ends. */
#include <stdlib.h>

#include "runtime/tuning.h"

enum { MOST_SHAPES = 4096 }; /* of a kernel */

static unsigned bucket_of(const LaunchShape *launch)
{
    uint64_t hash = launch->shared;
    for (unsigned d = 0; d < 3; d++)
        hash = (hash * 0x9e3779b97f4a7c15 + launch->grid[d]) * 0x9e3779b97f4a7c15 + launch->block[d];
    return (unsigned)(hash * 0x9e3779b97f4a7c15 >> 58);
}

static int device_of(const Contract *contract)
{
    int device = contract->tuning->device;
    if (contract->is_of_library && contract->driver->current_device && contract->driver->current_device(&device))
        device = 0;
    return device;
}

static Shape *shape_find(const Tuning *tuning, const LaunchShape *launch, int device)
{
    Shape *shape = __atomic_load_n(&tuning->buckets[bucket_of(launch)], __ATOMIC_ACQUIRE);
    while (shape && (shape->device != device || memcmp(shape->forms[0].grid, launch->grid, sizeof launch->grid) != 0 ||
                     memcmp(shape->forms[0].block, launch->block, sizeof launch->block) != 0 ||
                     shape->forms[0].shared != launch->shared))
        shape = shape->next;
    return shape;
}

/* Takes over what the store knows, if the form that it names is here. */
static void shape_recall(Shape *shape, const Contract *contract)
{
    const Tuning *tuning = contract->tuning;
    Learned learned;
    if (!learned_find(contract->driver, shape->device, tuning->hash, &shape->forms[0], &learned))
        return;
    for (unsigned i = 0; i <= tuning->form_count; i++)
        if (strcmp(tuning->words[i], learned.form) == 0 && shape->forms[i].block[0]) {
            shape->winner = (int)i;
            shape->decided = (Estimate){learned.launches, learned.milliseconds, learned.variance};
            shape->interval = FIRST_INTERVAL;
            shape->share = learned.original > 0 ? learned.milliseconds / learned.original : 0;
        }
}

void tuning_race(Shape *shape, const Tuning *tuning)
{
    shape->race = malloc(sizeof *shape->race);
    if (!shape->race) {
        shape->has_no_times = true;
        return;
    }
    race_begin(shape->race, tuning->form_count + 1);
    for (unsigned i = 1; i <= tuning->form_count; i++)
        if (!shape->forms[i].block[0])
            race_drop(shape->race, i);
}

/* The form that the build has fixed for such a launch; the original if a contract forbids the form. */
static int fixed_form(const Tuning *tuning, const Shape *shape)
{
    const LaunchShape *launch = &shape->forms[0];
    uint32_t form = tuning->first;
    for (unsigned i = 0; i < tuning->fixed_count; i++) {
        uint32_t words[FIXED_WORDS];
        memcpy(words, tuning->fixed + (size_t)i * sizeof words, sizeof words);
        if (memcmp(words, launch->grid, sizeof launch->grid) == 0 &&
            memcmp(words + 3, launch->block, sizeof launch->block) == 0 &&
            (words[6] | (uint64_t)words[7] << 32) == launch->shared)
            form = words[8];
    }
    return form <= tuning->form_count && shape->forms[form].block[0] ? (int)form : 0;
}

static void note_block(Contract *contract, const LaunchShape *launch, int device)
{
    Tuning *tuning = contract->tuning;
    for (unsigned i = 0; i < tuning->block_count; i++)
        if (memcmp(tuning->blocks[i], launch->block, sizeof launch->block) == 0)
            return;
    if (tuning->block_count == MOST_BLOCKS)
        return;
    memcpy(tuning->blocks[tuning->block_count++], launch->block, sizeof launch->block);
    learned_note_block(contract->driver, device, tuning->hash, launch->block, contract->kernel);
}

/* Makes a shape; NULL if there are too many, as in programs whose launches all differ. The caller holds the lock. */
static Shape *shape_new(Contract *contract, const LaunchShape *launch, int device)
{
    Tuning *tuning = contract->tuning;
    Shape **bucket = &tuning->buckets[bucket_of(launch)];
    const size_t size = sizeof(Shape) + (tuning->form_count + 1) * sizeof(LaunchShape);
    Shape *shape = tuning->shape_count < MOST_SHAPES ? calloc(1, size) : NULL;
    if (!shape)
        return NULL;
    for (unsigned i = 0; i <= tuning->form_count; i++) {
        shape->forms[i] = *launch;
        if (i && !form_adapt(&tuning->forms[i - 1], &shape->forms[i]))
            shape->forms[i].block[0] = 0;
    }
    shape->device = device;
    shape->winner = -1;
    if (tuning->is_fixed)
        shape->winner = fixed_form(tuning, shape);
    else if (tuning_mode() == MODE_LEARN)
        note_block(contract, launch, device);
    if (!tuning->is_fixed)
        shape_recall(shape, contract);
    if (shape->winner < 0 && tuning_mode() == MODE_LEARN)
        tuning_race(shape, tuning);
    if (shape->race && shape->race->winner >= 0) {
        shape->winner = shape->race->winner;
        free(shape->race);
        shape->race = NULL;
    }
    shape->next = *bucket;
    __atomic_store_n(bucket, shape, __ATOMIC_RELEASE);
    tuning->shape_count++;
    return shape;
}

Shape *tuning_shape(Contract *contract, const LaunchShape *launch)
{
    const int device = device_of(contract);
    Shape *shape = shape_find(contract->tuning, launch, device);
    if (shape)
        return shape;
    pthread_mutex_lock(&contract->tuning->lock);
    shape = shape_find(contract->tuning, launch, device);
    if (!shape)
        shape = shape_new(contract, launch, device);
    pthread_mutex_unlock(&contract->tuning->lock);
    return shape;
}
