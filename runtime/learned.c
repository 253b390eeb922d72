/* The store, as a program with an adapter uses it: read once for each device, and written by a thread of its own when
 * there is much to write, and when the program ends. No launch waits for another process. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/runtime.h"
#include "store/store.h"

enum { READ_WAIT = 20, WRITE_WAIT = 2000 }; /* milliseconds */
enum { BATCH = 64, LONGEST_NAME = 256 };

typedef struct Row {
    StoreRow row;
    char *texts; /* of a row that was read: the kernel's name, and the form; else NULL */
    struct Row *next;
} Row;

/* A device, with what its file says for this driver, and what is to be written. */
typedef struct Book {
    int device, driver;
    char name[LONGEST_NAME];
    Row *rows, *notes; /* what is known and stored, and what is to be stored: the newest first */
    unsigned note_count;
    struct Book *next;
} Book;

static Book *books;
static bool is_writing, has_failed;
static pthread_mutex_t books_lock = PTHREAD_MUTEX_INITIALIZER, writing_lock = PTHREAD_MUTEX_INITIALIZER;

static void fail_store(const char *error)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    if (wanted && *wanted && !__atomic_exchange_n(&has_failed, true, __ATOMIC_RELAXED))
        fprintf(stderr, "ptxopt: note: what is learned about launches is not kept: %s\n", error);
}

static void take_row(void *context, const StoreRow *stored)
{
    Book *book = context;
    const size_t kernel = strlen(stored->kernel) + 1, form = strlen(stored->form) + 1;
    Row *row = !stored->is_block && stored->driver == book->driver ? calloc(1, sizeof *row) : NULL;
    if (!row || !(row->texts = malloc(kernel + form))) {
        free(row);
        return;
    }
    row->row = *stored;
    row->row.kernel = memcpy(row->texts, stored->kernel, kernel);
    row->row.form = memcpy(row->texts + kernel, stored->form, form);
    row->row.device = book->name;
    row->next = book->rows;
    book->rows = row;
}

/* The caller holds the lock. NULL: out of memory. */
static Book *book_of(const Driver *driver, int device)
{
    char path[STORE_PATH], error[STORE_ERROR];
    Book *book = books;
    while (book && book->device != device)
        book = book->next;
    if (book || !(book = calloc(1, sizeof *book)))
        return book;
    book->device = device;
    if (driver->driver_version && driver->driver_version(&book->driver))
        book->driver = 0;
    if (!driver->device_name || driver->device_name(book->name, sizeof book->name, device))
        book->name[0] = 0;
    if (!store_file(book->name, path))
        fail_store("there is no home folder");
    else if (!store_read(path, READ_WAIT, take_row, book, error))
        fail_store(error);
    book->next = books;
    books = book;
    return book;
}

static bool is_of_shape(const StoreRow *row, uint64_t hash, const LaunchShape *launch)
{
    return row->hash == hash && memcmp(row->grid, launch->grid, sizeof row->grid) == 0 &&
           memcmp(row->block, launch->block, sizeof row->block) == 0 && row->shared == launch->shared;
}

/* Adds what the rows know, newer ones before older ones. */
static void find_in(const Row *rows, uint64_t hash, const LaunchShape *launch, Learned *learned)
{
    for (const Row *row = rows; row; row = row->next) {
        const StoreRow *stored = &row->row;
        if (stored->is_block || !is_of_shape(stored, hash, launch))
            continue;
        if (stored->is_chosen && !learned->form)
            *learned = (Learned){stored->form, stored->launches, stored->milliseconds, stored->variance,
                                 learned->original};
        if (!*stored->form && !(learned->original > 0))
            learned->original = stored->milliseconds;
    }
}

bool learned_find(const Driver *driver, int device, uint64_t hash, const LaunchShape *launch, Learned *learned)
{
    *learned = (Learned){0};
    pthread_mutex_lock(&books_lock);
    const Book *book = book_of(driver, device);
    if (book) {
        find_in(book->notes, hash, launch, learned);
        find_in(book->rows, hash, launch, learned);
    }
    pthread_mutex_unlock(&books_lock);
    return learned->form != NULL;
}

/* Takes the notes of a book into an array, from the oldest, for the caller to free; they are then among its rows. NULL:
 * there are none, or no memory. */
static StoreRow *take_notes(Book *book, unsigned *count)
{
    StoreRow *taken = book->note_count ? malloc(book->note_count * sizeof *taken) : NULL;
    Row **end = &book->notes;
    *count = taken ? book->note_count : 0;
    if (!taken)
        return NULL;
    for (unsigned left = *count; left; left--, end = &(*end)->next)
        taken[left - 1] = (*end)->row;
    *end = book->rows;
    book->rows = book->notes;
    book->notes = NULL;
    book->note_count = 0;
    return taken;
}

/* Writes all notes. The file is locked while this process holds none of its own locks, so that no launch waits. */
static void write_all(void)
{
    char path[STORE_PATH], error[STORE_ERROR];
    unsigned count;
    pthread_mutex_lock(&writing_lock);
    pthread_mutex_lock(&books_lock);
    for (Book *book = books; book; book = book->next) {
        StoreRow *rows = take_notes(book, &count);
        pthread_mutex_unlock(&books_lock);
        if (rows && store_file(book->name, path) && !store_write(path, WRITE_WAIT, rows, count, error))
            fail_store(error);
        free(rows);
        pthread_mutex_lock(&books_lock);
    }
    is_writing = false;
    pthread_mutex_unlock(&books_lock);
    pthread_mutex_unlock(&writing_lock);
}

static void *write_in_thread(void *unused)
{
    write_all();
    return unused;
}

extern __typeof__(pthread_create) pthread_create __attribute__((weak));
extern __typeof__(pthread_detach) pthread_detach __attribute__((weak));

/* Without signals, which the program's handlers expect in its own threads. */
static void write_aside(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    if (!pthread_create || !pthread_detach || pthread_sigmask(SIG_SETMASK, &all, &before))
        return;
    if (pthread_create(&thread, NULL, write_in_thread, NULL) == 0)
        pthread_detach(thread);
    else
        __atomic_store_n(&is_writing, false, __ATOMIC_RELAXED);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Adds a row to what is to be stored, for this device. */
static void note_row(const Driver *driver, int device, const StoreRow *noted)
{
    static bool is_registered;
    bool is_much = false;
    Row *row = calloc(1, sizeof *row);
    pthread_mutex_lock(&books_lock);
    Book *book = row ? book_of(driver, device) : NULL;
    if (book) {
        row->row = *noted;
        row->row.device = book->name;
        row->row.driver = book->driver;
        row->row.when = time(NULL);
        row->next = book->notes;
        book->notes = row;
        is_much = ++book->note_count >= BATCH && !is_writing;
        is_writing |= is_much;
        if (!is_registered)
            atexit(write_all);
        is_registered = true;
    } else {
        free(row);
    }
    pthread_mutex_unlock(&books_lock);
    if (is_much)
        write_aside();
}

void learned_note(const Driver *driver, int device, uint64_t hash, const LaunchShape *launch, const char *kernel,
                  const char *form, bool is_chosen, unsigned launches, double milliseconds, double variance)
{
    StoreRow row = {.hash = hash,
                    .kernel = kernel,
                    .shared = launch->shared,
                    .form = form,
                    .is_chosen = is_chosen,
                    .launches = launches,
                    .milliseconds = milliseconds,
                    .variance = variance};
    memcpy(row.grid, launch->grid, sizeof row.grid);
    memcpy(row.block, launch->block, sizeof row.block);
    note_row(driver, device, &row);
}

void learned_note_block(const Driver *driver, int device, uint64_t hash, const unsigned block[3], const char *kernel)
{
    StoreRow row = {.is_block = true, .hash = hash, .kernel = kernel, .form = ""};
    memcpy(row.block, block, sizeof row.block);
    note_row(driver, device, &row);
}
