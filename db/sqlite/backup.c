#include "db/sqlite/backup.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "db/sqlite/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define KIB INT64_C(1024)

static int64_t file_bytes(const char *path) {
    struct stat info;

    return stat(path, &info) == 0 ? (int64_t)info.st_size : 0;
}

/* A link may be on another file system than the database and its log: the copy is beside the
 * link. */
static int check_room(const char *path, struct arena *arena, struct error *err) {
    autofree char *real = realpath(path, NULL);
    int64_t needed =
        file_bytes(path) + file_bytes(arena_format(arena, "%s-wal", real ? real : path));
    int64_t free_bytes;
    char *directory = arena_text(arena, path), *slash = strrchr(directory, '/');
    struct statvfs info;

    if (slash)
        slash[slash == directory] = '\0';
    if (statvfs(slash ? directory : ".", &info) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "Reading the free space of %s", directory);
    free_bytes = (int64_t)info.f_bavail * (int64_t)info.f_frsize;
    if (free_bytes >= needed)
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "A copy of the database needs %" PRId64 " KiB, and %" PRId64
                     " KiB are free in %s.",
                     (needed + KIB - 1) / KIB, free_bytes / KIB, slash ? directory : ".");
}

/* Readable by the owner of the database only, regardless of the umask. */
static int make_file(const char *path, const char *draft, struct error *err) {
    autoclose int fd = -1;
    struct stat owner;

    if (unlink(draft) < 0 && errno != ENOENT)
        return error_errno(err, ERROR_UNAVAILABLE, "Removing %s", draft);
    fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "Making %s", draft);
    if (stat(path, &owner) == 0 && geteuid() == 0 && fchown(fd, owner.st_uid, owner.st_gid) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "Setting the owner of %s", draft);
    return 0;
}

/* On a separate connection: VACUUM cannot run in a transaction. */
static int copy_rows(const char *path, const char *draft, struct error *err) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(handle, "VACUUM INTO ?1", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 1, draft, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc != SQLITE_DONE)
        error_set(err, ERROR_UNAVAILABLE, "Copying the database to %s: %s", draft,
                  sqlite3_errmsg(handle));
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return rc == SQLITE_DONE ? 0 : -1;
}

static int keep(const char *path, const char *draft, const char *name, struct error *err) {
    autoclose int fd = open(draft, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0 || rename(draft, name) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "Keeping %s", name);
    return sqlite_log_keep_name(path, err);
}

int sqlite_backup(const char *path, int64_t number, struct arena *arena, const char **ret,
                  struct error *err) {
    const char *name = arena_format(arena, "%s.schema-%" PRId64, path, number);
    const char *draft = arena_format(arena, "%s.draft", name);

    assert(*path && number > 0);
    if (check_room(path, arena, err) < 0)
        return -1;
    if (make_file(path, draft, err) < 0 || copy_rows(path, draft, err) < 0 ||
        keep(path, draft, name, err) < 0) {
        unlink(draft);
        return -1;
    }
    *ret = name;
    return 0;
}
