#include "db/sqlite/image.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "db/schema.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* SQLite would take the log of a removed database for that of the image; beside an empty file it
 * removes the log. */
static bool is_free(const char *path) {
    static const char *const suffixes[] = { "", "-wal", "-journal" };
    char name[PATH_MAX];

    for (size_t i = 0; i < LENGTH(suffixes); i++)
        if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) >= (int)sizeof(name) ||
            access(name, F_OK) == 0)
            return false;
    return true;
}

static bool parts_write(int fd) {
    const unsigned char *bytes = schema_image_bytes;

    for (unsigned i = 0; i < schema_image_part_count; i++) {
        const struct schema_part *part = &schema_image_parts[i];

        if (pwrite(fd, bytes, part->length, part->at) != (ssize_t)part->length)
            return false;
        bytes += part->length;
    }
    return ftruncate(fd, (off_t)schema_image_size) == 0 && fdatasync(fd) == 0;
}

bool sqlite_image_make(const char *path) {
    autofree char *copy = heap_text(path);
    autoclose int fd = -1;
    char unnamed[32];

    if (schema_image_part_count == 0 || !is_free(path))
        return false;
    fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || !parts_write(fd))
        return false;
    snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
