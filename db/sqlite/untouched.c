#include "db/sqlite/untouched.h"

#include "common/cleanup.h"
#include "common/heap.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* https://sqlite.org/fileformat2.html: of the header of the file. */
enum { READ_VERSION = 19, VERSION_WAL = 2, HEADER_READ = 20 };

/* In WAL mode, of a file without a log: nothing is missing in it.  A connection of this process
 * would lose its locks when another descriptor is closed: no file with a log is opened here. */
static bool has_wal_mode(const char *path) {
    static const char magic[] = "SQLite format 3";
    char header[HEADER_READ];
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
           memcmp(header, magic, sizeof(magic)) == 0 && header[READ_VERSION] == VERSION_WAL;
}

static bool is_beside(const char *path, const char *suffix) {
    char name[PATH_MAX];

    return snprintf(name, sizeof(name), "%s%s", path, suffix) < (int)sizeof(name) &&
           access(name, F_OK) == 0;
}

/* With an index that a connection has open it is read as that connection shares it; without one, or
 * with one that is left, SQLite makes its own in memory.  The VFS without locks has no shared
 * memory, so no index file either. */
static const char *parameters(const char *path, bool *ret_alone) {
    bool has_log = is_beside(path, "-wal");

    *ret_alone = has_log && !is_beside(path, "-shm");
    return *ret_alone           ? "?vfs=unix-none"
           : has_log            ? "?readonly_shm=1"
           : has_wal_mode(path) ? "?immutable=1"
                                : "";
}

char *sqlite_name_untouched(const char *path, bool *ret_alone) {
    static const char front[] = "file://", digits[] = "0123456789abcdef";
    autofree char *real = realpath(path, NULL); /* the log is beside the file, not beside a link */
    const char *from = real ? real : path, *back = parameters(from, ret_alone);
    char *name = heap_new(sizeof(front) + strlen(back) + 3 * strlen(from)), *end;

    end = stpcpy(name, front);
    for (; *from; from++) {
        if (!strchr("%?#", *from)) {
            *end++ = *from;
            continue;
        }
        *end++ = '%';
        *end++ = digits[(unsigned char)*from >> 4];
        *end++ = digits[*from & 15];
    }
    stpcpy(end, back);
    return name;
}
