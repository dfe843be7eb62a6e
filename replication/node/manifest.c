#include "replication/node/manifest.h"

#include "common/cleanup.h"

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
