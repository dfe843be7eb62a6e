#include "db/sqlite/reserve.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { REST_LEAST = 256 << 10, REST_FREE = 128 << 10, LOG_MOST = 3 << 20 };

static bool path_beside(const char *database_path, const char *suffix, char path[PATH_MAX]) {
    return snprintf(path, PATH_MAX, "%s%s", database_path, suffix) < PATH_MAX;
}

static bool reserve_path(const char *database_path, char path[PATH_MAX]) {
    return path_beside(database_path, "-reserve", path);
}

static uint64_t free_bytes(const char *database_path) {
    struct statvfs found;

    return statvfs(database_path, &found) == 0 ? found.f_bavail * found.f_frsize : 0;
}

/* 0: there is none. */
static off_t file_size(const char *path) {
    struct stat found;

    return stat(path, &found) == 0 ? found.st_size : 0;
}

/* A tool may run as root: the file is the database's owner's, and can be completed by the service.
 * Only a new one, which cannot be a link to a file of root. */
static int file_create(const char *database_path, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    struct stat owner;

    if (fd >= 0 && geteuid() == 0 && stat(database_path, &owner) == 0 &&
        fchown(fd, owner.st_uid, owner.st_gid) < 0)
        log_info(NULL, "database: owner of the reserve not set", "path", path, NULL);
    return fd;
}

static bool file_fill(const char *database_path, const char *path, off_t size) {
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool partial = fd >= 0 && file_size(path) > 0;

    if (fd < 0 && (errno == ENOENT || (errno == EACCES && unlink(path) == 0)))
        fd = file_create(database_path, path);
    if (fd < 0)
        return false;
    if (posix_fallocate(fd, 0, size) == 0)
        return true;
    if (!partial)
        unlink(path);
    return false;
}

bool sqlite_reserve_make(const char *database_path) {
    char path[PATH_MAX];

    if (!reserve_path(database_path, path))
        return false;
    if (file_size(path) >= SQLITE_RESERVE_BYTES)
        return true;
    return free_bytes(database_path) > 4ULL * SQLITE_RESERVE_BYTES &&
           file_fill(database_path, path, SQLITE_RESERVE_BYTES);
}

bool sqlite_reserve_exists(const char *database_path) {
    char path[PATH_MAX];

    return reserve_path(database_path, path) && access(path, F_OK) == 0;
}

void sqlite_reserve_make_of_rest(const char *database_path) {
    const uint64_t space = free_bytes(database_path), most = SQLITE_RESERVE_BYTES + REST_FREE;
    char path[PATH_MAX];

    if (reserve_path(database_path, path) && file_size(path) == 0 && space >= REST_LEAST)
        file_fill(database_path, path, (off_t)((space < most ? space : most) - REST_FREE));
}

bool sqlite_reserve_suffices(const char *database_path) {
    char path[PATH_MAX];

    return (reserve_path(database_path, path) && file_size(path) >= SQLITE_RESERVE_BYTES / 2) ||
           free_bytes(database_path) > SQLITE_RESERVE_BYTES / 2;
}

/* By a descriptor of its own: SQLite has locks on its other files, and a close would end these. */
void sqlite_reserve_space_of_log(const char *database_path) {
    const uint64_t space = free_bytes(database_path) / 4 * 3;
    char path[PATH_MAX];
    autoclose int fd = -1;

    if (space == 0 || !path_beside(database_path, "-wal", path))
        return;
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, file_size(path),
                             (off_t)(space < LOG_MOST ? space : LOG_MOST)) < 0)
        log_info(NULL, "database: no space for the log", "path", database_path, NULL);
}

bool sqlite_reserve_release(const char *database_path) {
    char path[PATH_MAX];

    if (!reserve_path(database_path, path) || unlink(path) < 0)
        return false;
    log_warning(NULL, "database: file system is full, reserve of disk space released", "path",
                database_path, NULL);
    return true;
}
