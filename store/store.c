/* The store's files. A write is one transaction, with SQLite's rollback journal, which also works in home folders on
 * other machines. A process that is killed meanwhile leaves a journal, which the next one rolls back. */
#include "store/store.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite's interface, as its documentation has it. */
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
enum { SQLITE_DONE = 101, SQLITE_ROW = 100, SQLITE_CORRUPT = 11, SQLITE_NOTADB = 26 };
enum { OPEN_READ_ONLY = 1, OPEN_READ_WRITE = 2, OPEN_CREATE = 4 };

#define SQLITE_FUNCTIONS(ROW)                                                                                          \
    ROW(int, open_v2, (const char *path, sqlite3 **database, int flags, const char *system))                           \
    ROW(int, close_v2, (sqlite3 *database))                                                                            \
    ROW(int, busy_timeout, (sqlite3 *database, int milliseconds))                                                      \
    ROW(int, exec, (sqlite3 *database, const char *sql, void *row, void *context, char **error))                       \
    ROW(int, prepare_v2, (sqlite3 *database, const char *sql, int size, sqlite3_stmt **statement, const char **rest))  \
    ROW(int, step, (sqlite3_stmt *statement))                                                                          \
    ROW(int, reset, (sqlite3_stmt *statement))                                                                         \
    ROW(int, finalize, (sqlite3_stmt *statement))                                                                      \
    ROW(int, bind_int64, (sqlite3_stmt *statement, int number, int64_t value))                                         \
    ROW(int, bind_double, (sqlite3_stmt *statement, int number, double value))                                         \
    ROW(int, bind_text, (sqlite3_stmt *statement, int number, const char *text, int size, void (*release)(void *)))    \
    ROW(int64_t, column_int64, (sqlite3_stmt *statement, int number))                                                  \
    ROW(double, column_double, (sqlite3_stmt *statement, int number))                                                  \
    ROW(const unsigned char *, column_text, (sqlite3_stmt *statement, int number))                                     \
    ROW(const char *, errmsg, (sqlite3 *database))

typedef struct Sqlite {
#define MEMBER(type, name, parameters) type(*name) parameters;
    SQLITE_FUNCTIONS(MEMBER)
#undef MEMBER
} Sqlite;

extern __typeof__(dlopen) dlopen __attribute__((weak));
extern __typeof__(dlsym) dlsym __attribute__((weak));

/* False if there is no SQLite here, or an older one. */
static bool sqlite_load(Sqlite *sqlite, char *error)
{
    void *library = dlopen && dlsym ? dlopen("libsqlite3.so.0", RTLD_NOW) : NULL;
    bool all = library != NULL;
#define LOAD(type, name, parameters)                                                                                   \
    all = all && (*(void **)&sqlite->name = dlsym(library, "sqlite3_" #name)) != NULL;
    SQLITE_FUNCTIONS(LOAD)
#undef LOAD
    if (!all)
        snprintf(error, STORE_ERROR, "libsqlite3.so.0 is not installed");
    return all;
}

/* Paths. */

bool store_folder(char path[STORE_PATH])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int length = 0;
    if (cache && *cache == '/')
        length = snprintf(path, STORE_PATH, "%s/ptxopt", cache);
    else if (home && *home == '/')
        length = snprintf(path, STORE_PATH, "%s/.cache/ptxopt", home);
    return length > 0 && length < STORE_PATH;
}

bool store_file(const char *device, char path[STORE_PATH])
{
    if (!store_folder(path))
        return false;
    size_t length = strlen(path);
    int added = snprintf(path + length, STORE_PATH - length, "/%s.sqlite", *device ? device : "unknown");
    if (added < 0 || (size_t)added >= STORE_PATH - length)
        return false;
    for (char *c = path + length + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
            *c = '-';
    return true;
}

/* Makes the folders of a file that are not there, for the user alone. */
static void make_folders(const char *path)
{
    char folder[STORE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = 0;
        mkdir(folder, 0700);
    }
}

/* The database. */

static const char schema[] = "CREATE TABLE IF NOT EXISTS times (hash INTEGER, kernel TEXT, grid_x INTEGER,"
                             " grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,"
                             " shared INTEGER, device TEXT, driver INTEGER, form TEXT, chosen INTEGER,"
                             " launches INTEGER, milliseconds REAL, variance REAL, time INTEGER,"
                             " PRIMARY KEY (hash, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, driver,"
                             " form)) WITHOUT ROWID;"
                             "CREATE TABLE IF NOT EXISTS blocks (hash INTEGER, kernel TEXT, block_x INTEGER,"
                             " block_y INTEGER, block_z INTEGER, device TEXT, time INTEGER,"
                             " PRIMARY KEY (hash, block_x, block_y, block_z)) WITHOUT ROWID;"
                             "PRAGMA user_version = 2;";
static const char all_rows[] = "SELECT * FROM times ORDER BY kernel, hash, grid_x, grid_y, grid_z, block_x, block_y,"
                               " block_z, shared, driver, form";
static const char all_blocks[] = "SELECT * FROM blocks ORDER BY kernel, hash, block_x, block_y, block_z";
static const char choose_none[] = "UPDATE times SET chosen = 0 WHERE hash = ? AND grid_x = ? AND grid_y = ? AND"
                                  " grid_z = ? AND block_x = ? AND block_y = ? AND block_z = ? AND shared = ? AND"
                                  " driver = ?";
static const char put_row[] = "INSERT OR REPLACE INTO times VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
static const char put_block[] = "INSERT OR REPLACE INTO blocks VALUES (?,?,?,?,?,?,?)";

typedef struct Database {
    Sqlite sqlite;
    sqlite3 *handle;
    char *error;
} Database;

static bool database_fail(Database *database)
{
    snprintf(database->error, STORE_ERROR, "%s", database->sqlite.errmsg(database->handle));
    return false;
}

static bool database_open(Database *database, const char *path, int wait, int flags)
{
    const Sqlite *sqlite = &database->sqlite;
    database->handle = NULL;
    if (sqlite->open_v2(path, &database->handle, flags, NULL) != 0) {
        database_fail(database);
        sqlite->close_v2(database->handle);
        return false;
    }
    sqlite->busy_timeout(database->handle, wait);
    return true;
}

static StoreRow row_get(const Sqlite *sqlite, sqlite3_stmt *statement)
{
    StoreRow row = {.hash = (uint64_t)sqlite->column_int64(statement, 0)};
    row.kernel = (const char *)sqlite->column_text(statement, 1);
    for (int d = 0; d < 3; d++) {
        row.grid[d] = (unsigned)sqlite->column_int64(statement, 2 + d);
        row.block[d] = (unsigned)sqlite->column_int64(statement, 5 + d);
    }
    row.shared = (uint64_t)sqlite->column_int64(statement, 8);
    row.device = (const char *)sqlite->column_text(statement, 9);
    row.driver = (int)sqlite->column_int64(statement, 10);
    row.form = (const char *)sqlite->column_text(statement, 11);
    row.is_chosen = sqlite->column_int64(statement, 12) != 0;
    row.launches = (unsigned)sqlite->column_int64(statement, 13);
    row.milliseconds = sqlite->column_double(statement, 14);
    row.variance = sqlite->column_double(statement, 15);
    row.when = sqlite->column_int64(statement, 16);
    return row;
}

static StoreRow block_get(const Sqlite *sqlite, sqlite3_stmt *statement)
{
    StoreRow row = {.is_block = true, .hash = (uint64_t)sqlite->column_int64(statement, 0), .form = ""};
    row.kernel = (const char *)sqlite->column_text(statement, 1);
    for (int d = 0; d < 3; d++)
        row.block[d] = (unsigned)sqlite->column_int64(statement, 2 + d);
    row.device = (const char *)sqlite->column_text(statement, 5);
    row.when = sqlite->column_int64(statement, 6);
    return row;
}

/* Takes the rows of one table. One that is not there has none: another process has just made the file, or an older
 * version made it, which had no blocks. */
static bool read_rows(Database *database, const char *sql, StoreRow (*get)(const Sqlite *, sqlite3_stmt *),
                      StoreTake *take, void *context)
{
    const Sqlite *sqlite = &database->sqlite;
    sqlite3_stmt *statement = NULL;
    int state = 0;
    bool is_read = sqlite->prepare_v2(database->handle, sql, -1, &statement, NULL) == 0;
    while (is_read && (state = sqlite->step(statement)) == SQLITE_ROW) {
        const StoreRow row = get(sqlite, statement);
        if (row.kernel && row.device && row.form)
            take(context, &row);
    }
    is_read = is_read && state == SQLITE_DONE;
    if (!is_read)
        database_fail(database);
    if (!statement && strncmp(database->error, "no such table", 13) == 0)
        is_read = true;
    sqlite->finalize(statement);
    return is_read;
}

/* True if a file cannot be accessed because it is not there. */
static bool is_absent(char *error)
{
    snprintf(error, STORE_ERROR, "%s", strerror(errno));
    return errno == ENOENT || errno == ENOTDIR;
}

bool store_read(const char *path, int wait, StoreTake *take, void *context, char error[STORE_ERROR])
{
    Database database = {.error = error};
    const Sqlite *sqlite = &database.sqlite;
    if (access(path, F_OK) != 0)
        return is_absent(error);
    if (!sqlite_load(&database.sqlite, error))
        return false;
    /* A journal that is left can only be rolled back by one who may write. */
    if (!database_open(&database, path, wait, access(path, W_OK) == 0 ? OPEN_READ_WRITE : OPEN_READ_ONLY))
        return false;
    const bool is_read = read_rows(&database, all_rows, row_get, take, context) &&
                         read_rows(&database, all_blocks, block_get, take, context);
    sqlite->close_v2(database.handle);
    return is_read;
}

enum { SHAPE_NUMBERS = 7 };

static void bind_shape(const Sqlite *sqlite, sqlite3_stmt *statement, int first, const StoreRow *row)
{
    const int64_t numbers[SHAPE_NUMBERS] = {row->grid[0],  row->grid[1],  row->grid[2],         row->block[0],
                                            row->block[1], row->block[2], (int64_t)row->shared};
    for (int i = 0; i < SHAPE_NUMBERS; i++)
        sqlite->bind_int64(statement, first + i, numbers[i]);
}

/* Of the forms of one kernel and shape, one is chosen: those that were are not any more. */
static bool row_unchoose(const Sqlite *sqlite, sqlite3_stmt *statement, const StoreRow *row)
{
    sqlite->bind_int64(statement, 1, (int64_t)row->hash);
    bind_shape(sqlite, statement, 2, row);
    sqlite->bind_int64(statement, 2 + SHAPE_NUMBERS, row->driver);
    return sqlite->step(statement) == SQLITE_DONE && sqlite->reset(statement) == 0;
}

static bool row_put(const Sqlite *sqlite, sqlite3_stmt *statement, const StoreRow *row)
{
    sqlite->bind_int64(statement, 1, (int64_t)row->hash);
    sqlite->bind_text(statement, 2, row->kernel, -1, NULL);
    bind_shape(sqlite, statement, 3, row);
    sqlite->bind_text(statement, 10, row->device, -1, NULL);
    sqlite->bind_int64(statement, 11, row->driver);
    sqlite->bind_text(statement, 12, row->form, -1, NULL);
    sqlite->bind_int64(statement, 13, row->is_chosen);
    sqlite->bind_int64(statement, 14, row->launches);
    sqlite->bind_double(statement, 15, row->milliseconds);
    sqlite->bind_double(statement, 16, row->variance);
    sqlite->bind_int64(statement, 17, row->when);
    return sqlite->step(statement) == SQLITE_DONE && sqlite->reset(statement) == 0;
}

static bool block_put(const Sqlite *sqlite, sqlite3_stmt *statement, const StoreRow *row)
{
    sqlite->bind_int64(statement, 1, (int64_t)row->hash);
    sqlite->bind_text(statement, 2, row->kernel, -1, NULL);
    for (int d = 0; d < 3; d++)
        sqlite->bind_int64(statement, 3 + d, row->block[d]);
    sqlite->bind_text(statement, 6, row->device, -1, NULL);
    sqlite->bind_int64(statement, 7, row->when);
    return sqlite->step(statement) == SQLITE_DONE && sqlite->reset(statement) == 0;
}

static bool write_rows(Database *database, const StoreRow *rows, size_t count)
{
    const Sqlite *sqlite = &database->sqlite;
    sqlite3_stmt *statement = NULL, *none = NULL, *block = NULL;
    bool is_done = sqlite->exec(database->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) == 0 &&
                   sqlite->exec(database->handle, schema, NULL, NULL, NULL) == 0 &&
                   sqlite->prepare_v2(database->handle, choose_none, -1, &none, NULL) == 0 &&
                   sqlite->prepare_v2(database->handle, put_row, -1, &statement, NULL) == 0 &&
                   sqlite->prepare_v2(database->handle, put_block, -1, &block, NULL) == 0;
    for (size_t i = 0; i < count && is_done; i++)
        is_done = rows[i].is_block || !rows[i].is_chosen || row_unchoose(sqlite, none, &rows[i]);
    for (size_t i = 0; i < count && is_done; i++)
        is_done = rows[i].is_block ? block_put(sqlite, block, &rows[i]) : row_put(sqlite, statement, &rows[i]);
    if (!is_done)
        database_fail(database);
    sqlite->finalize(none);
    sqlite->finalize(block);
    sqlite->finalize(statement);
    if (is_done && sqlite->exec(database->handle, "COMMIT", NULL, NULL, NULL) == 0)
        return true;
    if (is_done)
        database_fail(database);
    sqlite->exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* *is_broken: the file is not a database, or is damaged. */
static bool write_once(Database *database, const char *path, int wait, const StoreRow *rows, size_t count,
                       bool *is_broken)
{
    const Sqlite *sqlite = &database->sqlite;
    *is_broken = false;
    if (!database_open(database, path, wait, OPEN_READ_WRITE | OPEN_CREATE))
        return false;
    const int state = sqlite->exec(database->handle, "PRAGMA synchronous = NORMAL; SELECT count(*) FROM sqlite_master",
                                   NULL, NULL, NULL);
    *is_broken = state == SQLITE_CORRUPT || state == SQLITE_NOTADB;
    const bool is_done = !*is_broken && write_rows(database, rows, count);
    sqlite->close_v2(database->handle);
    return is_done;
}

/* Removes the file, and first its journal, which must not be rolled back into another file. */
static bool remove_file(const char *path)
{
    char journal[STORE_PATH + sizeof "-journal"];
    snprintf(journal, sizeof journal, "%s-journal", path);
    return (unlink(journal) == 0 || errno == ENOENT) && unlink(path) == 0;
}

bool store_write(const char *path, int wait, const StoreRow *rows, size_t count, char error[STORE_ERROR])
{
    Database database = {.error = error};
    bool is_broken = false;
    if (!sqlite_load(&database.sqlite, error))
        return false;
    make_folders(path);
    if (write_once(&database, path, wait, rows, count, &is_broken))
        return true;
    return is_broken && remove_file(path) && write_once(&database, path, wait, rows, count, &is_broken);
}
