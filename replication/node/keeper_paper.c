#include "replication/node/keeper_paper.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PAPER     "/document"
#define PAPER_NEW "/document.new"
#define SIZE_MOST (1024 * 1024)

void paper_write(const char *run, const char *text) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_join(arena, run, PAPER_NEW, NULL);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t size = strlen(text);

    if (fd >= 0 && write(fd, text, size) == (ssize_t)size)
        rename(path, arena_join(arena, run, PAPER, NULL));
}

void paper_remove(const char *run) {
    autoarena struct arena *arena = arena_new();

    unlink(arena_join(arena, run, PAPER, NULL));
    unlink(arena_join(arena, run, PAPER_NEW, NULL));
}

const char *paper_read(struct arena *arena, const char *run) {
    autoclose int fd = open(arena_join(arena, run, PAPER, NULL), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    char *text;

    if (fd < 0 || fstat(fd, &facts) < 0 || facts.st_size > SIZE_MOST)
        return NULL;
    text = arena_alloc(arena, (size_t)facts.st_size + 1);
    return read(fd, text, (size_t)facts.st_size) == facts.st_size ? text : NULL;
}
