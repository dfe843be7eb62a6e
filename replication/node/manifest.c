#include "replication/node/manifest.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MANIFEST     "/document"
#define MANIFEST_NEW "/document.new"
#define SIZE_MOST    (1024 * 1024)

void manifest_write(const char *run, const char *text) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_join(arena, run, MANIFEST_NEW, NULL);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t size = strlen(text);

    if (fd >= 0 && write(fd, text, size) == (ssize_t)size)
        rename(path, arena_join(arena, run, MANIFEST, NULL));
}

void manifest_remove(const char *run) {
    autoarena struct arena *arena = arena_new();

    unlink(arena_join(arena, run, MANIFEST, NULL));
    unlink(arena_join(arena, run, MANIFEST_NEW, NULL));
}

const char *manifest_read(struct arena *arena, const char *run) {
    autoclose int fd =
        open(arena_join(arena, run, MANIFEST, NULL), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    char *text;

    if (fd < 0 || fstat(fd, &facts) < 0 || facts.st_size > SIZE_MOST)
        return NULL;
    text = arena_alloc(arena, (size_t)facts.st_size + 1);
    return read(fd, text, (size_t)facts.st_size) == facts.st_size ? text : NULL;
}

const char **manifest_uids(struct arena *arena, const char *directory, const char *prefix) {
    autodirectory DIR *list = opendir(directory);
    const char **uids = arena_alloc(arena, sizeof(*uids));
    const struct dirent *entry;
    char uid[UUID_SIZE];
    size_t count = 0, capacity = 1, length = strlen(prefix);

    while (list && (entry = readdir(list))) {
        if (strncmp(entry->d_name, prefix, length) != 0 || !uuid_parse(entry->d_name + length, uid))
            continue;
        if (count + 1 == capacity) {
            const char **more = arena_alloc(arena, 2 * capacity * sizeof(*more));

            memcpy(more, uids, capacity * sizeof(*more));
            uids = more;
            capacity *= 2;
        }
        uids[count++] = arena_text(arena, uid);
    }
    uids[count] = NULL;
    return uids;
}
