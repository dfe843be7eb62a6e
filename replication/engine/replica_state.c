#include "replication/engine/replica.private.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MOST 8192

int replica_write_bytes(int fd, const char *bytes, size_t size, off_t at) {
    while (size > 0) {
        ssize_t written = pwrite(fd, bytes, size, at);

        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            bytes += written;
            at += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

int replica_put_state(int directory, const struct replica *replica,
                      const struct replica_state *state, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *text = replica_state_text(arena, state);
    autoclose int fd = openat(directory, STATE_NEW,
                              O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd < 0 || replica_write_bytes(fd, text, strlen(text), 0) < 0 ||
        ftruncate(fd, (off_t)strlen(text)) < 0 || fsync(fd) < 0)
        return replica_errno(err, replica, "writing the state");
    /* The two are exchanged: the next state overwrites a file with allocated space, however full
     * the pool is. */
    if (renameat2(directory, STATE_NEW, directory, STATE, RENAME_EXCHANGE) < 0 &&
        renameat(directory, STATE_NEW, directory, STATE) < 0)
        return replica_errno(err, replica, "writing the state");
    return fsync(directory) < 0 ? replica_errno(err, replica, "writing the state") : 0;
}

int replica_write_state(const struct replica *replica, const struct replica_state *state,
                        struct error *err) {
    autoclose int directory = replica_open(replica, err);

    return directory < 0 ? -1 : replica_put_state(directory, replica, state, err);
}

int replica_read_state(int directory, const struct replica *replica, struct replica_state *ret,
                       struct error *err) {
    autoclose int fd = openat(directory, STATE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    autoarena struct arena *arena = arena_new();
    char text[STATE_MOST];
    struct replica_state state;
    ssize_t got;

    if (fd < 0 && errno == ENOENT)
        return 0;
    got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (got < 0)
        return replica_errno(err, replica, "reading the state");
    if (replica_state_parse(arena, text, (size_t)got, &state, err) < 0)
        return error_context(err, "%s in %s", replica->uid, replica->pool);
    if (strcmp(state.replica, replica->uid) != 0)
        return error_set(err, ERROR_CONFLICT, "The state in %s/%s is that of the replica %s.",
                         replica->pool, replica->uid, state.replica);
    *ret = state;
    return 1;
}
