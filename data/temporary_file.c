#include "data/temporary_file.h"

#include "common/assert.h"
#include "common/gib.h"
#include "common/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t promised_bytes; /* lock */

int temporary_file_open(const char *directory, struct error *err) {
    char path[PATH_MAX];
    int fd;

    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making the directory %s for conversions of images",
                           directory);
    fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* not every file system makes files without a name */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        if ((size_t)snprintf(path, sizeof(path), "%s/image-XXXXXX", directory) >= sizeof(path))
            errno = ENAMETOOLONG;
        else if ((fd = mkostemp(path, O_CLOEXEC)) >= 0)
            unlink(path);
    }
    return fd < 0 ? error_errno(err, ERROR_BACKEND, "making a file in %s", directory) : fd;
}

int temporary_file_check_space(int fd, int64_t bytes) {
    const int64_t spare_most = GIB;
    struct statvfs found;
    int64_t unit, spare;

    if (fstatvfs(fd, &found) < 0)
        return errno;
    unit = (int64_t)found.f_frsize;
    spare = (int64_t)found.f_blocks / 20 * unit;
    if (spare > spare_most)
        spare = spare_most;
    return (int64_t)found.f_bavail * unit - spare < bytes ? ENOSPC : 0;
}

int temporary_file_promise(int fd, int64_t bytes) {
    int failure;

    assert(bytes >= 0);
    scoped_lock(&lock);
    failure = temporary_file_check_space(fd, promised_bytes + bytes);
    if (!failure)
        promised_bytes += bytes;
    return failure;
}

void temporary_file_release(int64_t bytes) {
    scoped_lock(&lock);
    assert(bytes >= 0 && bytes <= promised_bytes);
    promised_bytes -= bytes;
}
