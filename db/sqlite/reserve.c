#include "db/sqlite/reserve.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool reserve_path(const char *database_path, char path[PATH_MAX]) {
    return snprintf(path, PATH_MAX, "%s-reserve", database_path) < PATH_MAX;
}

static bool has_bytes(const char *database_path, uint64_t bytes) {
    struct statvfs found;

    return statvfs(database_path, &found) == 0 && found.f_bavail > bytes / found.f_frsize;
}

bool sqlite_reserve_make(const char *database_path) {
    char path[PATH_MAX];
    autoclose int fd = -1;

    if (!reserve_path(database_path, path))
        return false;
    if (access(path, F_OK) == 0)
        return true;
    if (!has_bytes(database_path, 4ULL * SQLITE_RESERVE_BYTES))
        return false;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (posix_fallocate(fd, 0, SQLITE_RESERVE_BYTES) == 0)
        return true;
    unlink(path);
    return false;
}

bool sqlite_reserve_suffices(const char *database_path) {
    char path[PATH_MAX];

    return (reserve_path(database_path, path) && access(path, F_OK) == 0) ||
           has_bytes(database_path, SQLITE_RESERVE_BYTES / 2);
}

bool sqlite_reserve_release(const char *database_path) {
    char path[PATH_MAX];

    if (!reserve_path(database_path, path) || unlink(path) < 0)
        return false;
    log_warning(NULL, "database: file system is full, reserve of disk space released", "path",
                database_path, NULL);
    return true;
}
