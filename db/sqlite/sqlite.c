#include "db/sqlite/sqlite.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "db/sqlite/image.h"
#include "db/sqlite/log.h"
#include "db/sqlite/log_flush.h"
#include "db/sqlite/reserve.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/untouched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char url_scheme[] = "sqlite://";

/*
 * A page is 4 KiB, so the writer's cache may take 2 MB and each reader's 1.5 MB. Readers map the
 * file (see map.h), with 400,000 volumes all of it; the rest is read into the cache.
 *
 * The writer checks every cell of a page that it reads before it changes one.  A reader gets an
 * error for a corrupt cell when it reaches it, as SQLite always checks.
 */
static const char common_pragmas[] = "PRAGMA foreign_keys = ON;"
                                     "PRAGMA synchronous = FULL;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA mmap_size = 0;"
                                     "PRAGMA trusted_schema = OFF;"
                                     "PRAGMA secure_delete = FAST;";
static const char writer_pragmas[] = "PRAGMA cache_size = -2000;"
                                     "PRAGMA cell_size_check = ON;"
                                     "PRAGMA wal_autocheckpoint = 0;"
                                     "PRAGMA journal_size_limit = 16777216;";
static const char reader_pragmas[] = "PRAGMA cache_size = -1536;"
                                     "PRAGMA query_only = ON;"
                                     "PRAGMA mmap_size = 268435456;";

int sqlite_path(const char *url, const char **ret, struct error *err) {
    const char *path = url + strlen(url_scheme);

    if (strncmp(url, url_scheme, strlen(url_scheme)) != 0 || (*path && *path != '/'))
        return error_set(err, ERROR_BAD_REQUEST,
                         "database %s: must be sqlite:///absolute/path, or sqlite:// for memory",
                         url);
    *ret = path;
    return 0;
}

/* Waits for a lock of another connection or process; transactions of this program last
 * milliseconds. */
static int lock_wait(void *arg, int count) {
    enum { FAST_TRIES = 7, MOST_TRIES = 500 };
    struct timespec pause = { 0, count < FAST_TRIES ? 100000L << count : 10000000L };

    (void)arg;
    if (count >= MOST_TRIES)
        return 0;
    nanosleep(&pause, NULL);
    return 1;
}

static int wal_written(void *arg, sqlite3 *handle, const char *name, int frames) {
    struct connection *connection = arg;

    (void)handle;
    (void)name;
    connection->wal_frames = frames;
    return SQLITE_OK;
}

/* Creates the file, readable by its owner only: SQLite would leave it to the umask.  1: created
 * empty. */
static int file_prepare(const char *path, struct error *err) {
    const bool made = sqlite_image_make(path);
    autoclose int fd = made ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat found;

    if (fd >= 0)
        return 1;
    if (!made && errno != EEXIST)
        return error_errno(err, ERROR_UNAVAILABLE, "The file cannot be created");
    if (stat(path, &found) < 0 || access(path, R_OK | W_OK) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "The file cannot be read and written");
    if (!S_ISREG(found.st_mode))
        return error_set(err, ERROR_UNAVAILABLE, "It is not a regular file.");
    return 0;
}

static int connection_exec(struct connection *connection, const char *sql, struct error *err) {
    if (sqlite3_exec(connection->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return connection_error(connection, err);
    return 0;
}

static int wal_begin(struct connection *connection, struct error *err) {
    sqlite3_stmt *statement = NULL;
    bool is_wal = false;
    int rc =
        sqlite3_prepare_v2(connection->handle, "PRAGMA journal_mode = WAL", -1, &statement, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        is_wal = strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    sqlite3_finalize(statement);
    if (rc != SQLITE_ROW)
        return connection_error(connection, err);
    if (!is_wal)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The file system cannot share memory between programs (WAL refused).");
    sqlite3_wal_hook(connection->handle, wal_written, connection);
    return 0;
}

static int connection_setup(struct connection *connection, const char *path, enum sqlite_use use,
                            bool created, struct error *err) {
    int access = use >= SQLITE_LOOKER ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    bool in_memory = *path == '\0', writer = use == SQLITE_WRITER;
    bool alone = false;
    autofree char *name = in_memory                 ? heap_text(":memory:")
                          : use == SQLITE_UNTOUCHED ? sqlite_name_untouched(path, &alone)
                                                    : heap_text(path);

    if (use == SQLITE_UNTOUCHED)
        access |= SQLITE_OPEN_URI;
    if (sqlite3_open_v2(name, &connection->handle, access | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return connection_error(connection, err);
    sqlite3_busy_handler(connection->handle, lock_wait, NULL);
    sqlite3_extended_result_codes(connection->handle, 1);
    if (alone) {
        sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        if (connection_exec(connection, "PRAGMA locking_mode = EXCLUSIVE", err) < 0)
            return -1;
    }
    /* Reading the schema detects a file that is not a database, or a corrupt one. */
    if (connection_exec(connection, "SELECT count(*) FROM sqlite_schema", err) < 0)
        return -1;
    if (use < SQLITE_LOOKER && sqlite3_db_readonly(connection->handle, "main") == 1)
        return error_set(err, ERROR_UNAVAILABLE, "The database is read-only.");
    if (connection_exec(connection, common_pragmas, err) < 0 ||
        connection_exec(connection, writer ? writer_pragmas : reader_pragmas, err) < 0)
        return -1;
    /* The first page of a new file is flushed by itself: a journal, which costs three flushes more,
     * would restore an empty file. */
    if (created && connection_exec(connection, "PRAGMA journal_mode = MEMORY", err) < 0)
        return -1;
    return writer && !in_memory ? wal_begin(connection, err) : 0;
}

/* The previous process may have died of a failed flush. */
static int log_prepare(struct connection *connection, const char *path, struct error *err) {
    connection->in_doubt = sqlite_log_renew(connection, err) != 0;
    if (connection->in_doubt || sqlite_log_keep_name(path, err) < 0)
        return -1;
    return sqlite_log_flush_begin(connection, err);
}

static void library_setup(void) {
    /* Memory statistics cost a global lock at every allocation. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* Each connection would begin with 20 pages; a reader that maps the file needs few. */
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    sqlite3_initialize();
    sqlite_map_setup();
}

/* -1; *ret_full: for lack of space. */
static int connection_open(const char *path, enum sqlite_use use, bool created,
                           struct connection **ret, bool *ret_full, struct error *err) {
    struct connection *connection = heap_new(sizeof(*connection));
    bool writer = use == SQLITE_WRITER;
    int result;

    connection->statements = statement_cache_new();
    sqlite_map_use(&connection->map);
    connection->path = heap_text(path);
    result = connection_setup(connection, path, use, created, err);
    sqlite_map_use(NULL);
    if (*path && stat(path, &connection->place) < 0 && result == 0)
        result = error_errno(err, ERROR_UNAVAILABLE, "The file is not at its path");
    if (result < 0 || (*path && writer && log_prepare(connection, path, err) < 0)) {
        *ret_full = connection->full;
        sqlite_close(connection);
        return -1;
    }
    *ret = connection;
    return 0;
}

int sqlite_open(const char *path, enum sqlite_use use, struct connection **ret, struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool writer = use == SQLITE_WRITER;
    bool full = false;
    int created, result;

    pthread_once(&once, library_setup);
    created = *path && writer ? file_prepare(path, err) : 0;
    if (created < 0)
        return error_context(err, "database %s", path);
    result = connection_open(path, use, created > 0, ret, &full, err);
    if (result < 0 && full && *path && writer && sqlite_reserve_release(path))
        result = connection_open(path, use, created > 0, ret, &full, err);
    if (result < 0)
        return error_context(err, "database %s", *path ? path : "in memory");
    (*ret)->no_reserve = *path && writer && !sqlite_reserve_make(path);
    if ((*ret)->no_reserve)
        sqlite_reserve_space_of_log(path); /* an open log has been truncated */
    return 0;
}

static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

bool sqlite_is_same_file(const struct connection *one, const struct connection *other) {
    return is_same(&one->place, &other->place);
}

/* SQLite's own test compares inode numbers alone, at the path without its links. */
static bool is_moved(const struct connection *connection) {
    struct stat found;

    if (!*connection->path)
        return false;
    if (stat(connection->path, &found) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return !is_same(&connection->place, &found);
}

int sqlite_check_place(const struct connection *connection, struct error *err) {
    return is_moved(connection)
               ? error_set(
                     err, ERROR_UNAVAILABLE,
                     "%s is not the open database any more: it was moved, or a mount has come "
                     "or gone. Restore it; changes would be lost at the next start.",
                     connection->path)
               : 0;
}

bool sqlite_make_space(struct connection *connection) {
    const char *path = sqlite3_db_filename(connection->handle, "main");
    bool full = connection->full && *path && !is_moved(connection);

    connection->full = false;
    connection->no_reserve |= full; /* also when another process has released it */
    if (!full || !sqlite_reserve_release(path))
        return false;
    sqlite_reserve_space_of_log(path);
    return true;
}

int sqlite_check_space(const struct connection *connection, struct error *err) {
    const char *path = sqlite3_db_filename(connection->handle, "main");

    if (!*path || sqlite_reserve_suffices(path))
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "The disk of the database is nearly full: objects can only be deleted.");
}

void sqlite_renew_reserve(struct connection *connection) {
    if (connection->no_reserve && !is_moved(connection))
        connection->no_reserve =
            !sqlite_reserve_make(sqlite3_db_filename(connection->handle, "main"));
}

/* The last connection copies the log to the file, and removes that at the path: not one with a
 * hole, nor that of another file. */
void sqlite_close(struct connection *connection) {
    bool moved = connection->leaves_log || is_moved(connection);
    autofree char *full = NULL;

    sqlite_renew_reserve(connection); /* the next start may need it */
    if (connection->no_reserve && !moved)
        full = heap_text(sqlite3_db_filename(connection->handle, "main"));
    if (moved || (connection->in_doubt && sqlite_log_renew(connection, NULL) != 0))
        sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    statement_cache_free(connection->statements);
    sqlite_map_use(&connection->map);
    sqlite3_close(connection->handle);
    sqlite_map_end(&connection->map);
    free(connection->log_bytes);
    free(connection->path);
    free(connection);
    if (full)
        sqlite_reserve_make_of_rest(full);
}

void sqlite_checkpoint(struct connection *connection) {
    int all = 0, copied = 0;

    if (!connection->in_doubt &&
        sqlite3_wal_checkpoint_v2(connection->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &all,
                                  &copied) != SQLITE_OK)
        connection_note_failure(connection);
    connection->wal_frames = copied < all ? all : 0;
}

int sqlite_renew(struct connection *connection, struct error *err) {
    int result = connection->in_doubt ? sqlite_log_renew(connection, err) : 0;

    if (result == SQLITE_LOG_LOST) {
        log_error(NULL, "committed changes of the database are lost; this process stops", "reason",
                  err->message, NULL);
        abort();
    }
    if (result == 0 && connection->in_doubt)
        log_info(NULL, "log of the database repaired", NULL);
    if (result == 0)
        connection->in_doubt = false;
    return result;
}

/* https://sqlite.org/src/doc/trunk/src/os.h: each connection in WAL mode holds a shared lock there
 * from its first statement on. */
enum { LOCK_BYTES = 0x40000000, LOCK_LENGTH = 512 };

int sqlite_is_unused(const char *url, struct error *err) {
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTES, .l_len = LOCK_LENGTH
    };
    const char *path;
    autoclose int fd = -1;

    if (sqlite_path(url, &path, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "database %s", path);
    return lock.l_type == F_UNLCK
               ? 0
               : error_set(err, ERROR_CONFLICT,
                           "database %s: in use by another program; stop it first", path);
}
