#include "db/sqlite/rest.h"

#include "common/cleanup.h"
#include "common/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* https://sqlite.org/fileformat2.html: of the header of the file. */
enum { READ_VERSION = 19, VERSION_WAL = 2, HEADER_READ = 20 };

/* A connection of this process would lose its locks when another descriptor is closed: a file with
 * a log is not opened. */
bool sqlite_is_at_rest(const char *path) {
    static const char magic[] = "SQLite format 3";
    char name[PATH_MAX], header[HEADER_READ];
    autoclose int fd = -1;

    if (snprintf(name, sizeof(name), "%s-wal", path) >= (int)sizeof(name) ||
        access(name, F_OK) == 0 || errno != ENOENT)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
           memcmp(header, magic, sizeof(magic)) == 0 && header[READ_VERSION] == VERSION_WAL;
}

char *sqlite_name_at_rest(const char *path) {
    static const char front[] = "file://", back[] = "?immutable=1", digits[] = "0123456789abcdef";
    char *name = heap_new(sizeof(front) + sizeof(back) + 3 * strlen(path)), *end;

    end = stpcpy(name, front);
    for (; *path; path++) {
        if (!strchr("%?#", *path)) {
            *end++ = *path;
            continue;
        }
        *end++ = '%';
        *end++ = digits[(unsigned char)*path >> 4];
        *end++ = digits[*path & 15];
    }
    stpcpy(end, back);
    return name;
}
