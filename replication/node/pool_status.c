#include "replication/node/pool_status.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MARK_NEW  POOL_MARK ".new"
#define MARK_MOST 1024

const char *pool_state_text(enum pool_state state) {
    static const char *const texts[] = {
        [POOL_ONLINE] = "Online",   [POOL_READ_ONLY] = "ReadOnly", [POOL_GONE] = "Gone",
        [POOL_FOREIGN] = "Foreign", [POOL_FAILING] = "Failing",
    };

    return texts[state];
}

bool pool_is_marked(const struct pool_status *status) {
    return status->state == POOL_ONLINE || status->state == POOL_READ_ONLY;
}

static void fail(struct pool_status *status, enum pool_state state, const char *path,
                 const char *action) {
    status->state = state;
    error_errno(&status->why, ERROR_UNAVAILABLE, "%s: %s", path, action);
}

/* Files of a new file system, an unfinished mark and an unfinished probe are ignored. */
static void read_unmarked(int fd, const char *path, struct pool_status *status) {
    static const char *const ignored[] = { ".", "..", "lost+found", MARK_NEW, POOL_PROBE };
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autodirectory DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry = NULL;
    bool empty = directory != NULL;

    while (empty && (entry = readdir(directory)))
        empty = words_have(ignored, LENGTH(ignored), entry->d_name);
    if (!directory) {
        fail(status, POOL_FAILING, path, "reading the directory");
    } else if (empty) {
        status->state = POOL_GONE;
        status->chance = POOL_EMPTY;
        error_set(&status->why, ERROR_UNAVAILABLE,
                  "%s is empty and has no mark: its file system may not be mounted", path);
    } else {
        status->state = POOL_FOREIGN;
        error_set(&status->why, ERROR_UNAVAILABLE, "%s has no mark and is not empty", path);
    }
    if (!directory && copy >= 0)
        close(copy);
}

static void check_mark(int fd, const char *path, const char *name, struct pool_status *status) {
    autoclose int mark = openat(fd, POOL_MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    autoarena struct arena *arena = NULL;
    char text[MARK_MOST];
    ssize_t got = mark < 0 ? -1 : read(mark, text, sizeof(text));
    const char *marked;

    if (mark < 0 && errno == ENOENT) {
        read_unmarked(fd, path, status);
        return;
    }
    if (got < 0) {
        fail(status, POOL_FAILING, path, "reading its mark");
        return;
    }
    if (got == 0) {
        status->state = POOL_GONE;
        status->chance = POOL_GIVEN;
        error_set(&status->why, ERROR_UNAVAILABLE, "%s has an empty mark", path);
        return;
    }
    arena = arena_new();
    marked = json_text_of(json_parse(arena, text, (size_t)got, NULL), "pool");
    if (marked && strcmp(marked, name) == 0)
        return;
    status->state = POOL_FOREIGN;
    error_set(&status->why, ERROR_UNAVAILABLE, "%s is marked as the pool %.64s, not %s", path,
              marked ? marked : "(none)", name);
}

void pool_status_read(const char *path, const char *name, struct pool_status *ret) {
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statvfs file_system;
    struct stat facts;

    *ret = (struct pool_status){ .state = POOL_ONLINE };
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        fail(ret, POOL_GONE, path, "opening the directory");
        return;
    }
    if (fd < 0 || fstat(fd, &facts) < 0 || fstatvfs(fd, &file_system) < 0) {
        fail(ret, POOL_FAILING, path, "reading its attributes");
        return;
    }
    ret->device = facts.st_dev;
    ret->inode = facts.st_ino;
    ret->total_bytes = (int64_t)(file_system.f_blocks * file_system.f_frsize);
    ret->free_bytes = (int64_t)(file_system.f_bavail * file_system.f_frsize);
    check_mark(fd, path, name, ret);
    if (ret->state == POOL_ONLINE && file_system.f_flag & ST_RDONLY) {
        ret->state = POOL_READ_ONLY;
        error_set(&ret->why, ERROR_UNAVAILABLE, "%s takes no writes", path);
    }
}

int pool_mark(const char *path, const char *name, struct error *err) {
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int mark =
        fd < 0 ? -1
               : openat(fd, MARK_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    autoarena struct arena *arena = arena_new();
    const char *text = json_text(arena, json_keep(arena, json_pack("{s:s}", "pool", name)));
    size_t size = strlen(text);

    if (mark < 0 || write(mark, text, size) != (ssize_t)size || fsync(mark) < 0 ||
        renameat(fd, MARK_NEW, fd, POOL_MARK) < 0 || fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "marking %s as the pool %s", path, name);
    return 0;
}
