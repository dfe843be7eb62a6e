#include "replication/engine/replica_access.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/md5.h"
#include "replication/engine/replica_epoch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert(REPLICA_SUM_SIZE == MD5_SIZE, "sums are MD5");

#define BLOCK ((int64_t)REPLICA_SUMS_BLOCK)

/* ---- sums ---- */

/* The first block from there on that is no hole. */
static int64_t find_data(int fd, int64_t from, int64_t end) {
    off_t at = lseek(fd, from, SEEK_DATA);

    assert(from >= 0);
    if (at < 0)
        return errno == ENXIO ? end : from;
    at -= (at - from) % BLOCK;
    return at < end ? at : end;
}

static int open_data(const struct replica *replica, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int fd = open(replica_data_path(arena, replica), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE,
                           "opening the data of %s", replica->uid);
    return fd;
}

static int read_data(int fd, int64_t at, size_t size, char *ret) {
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, ret + done, size - done, at + (int64_t)done);

        if (got == 0)
            errno = EIO; /* cut off */
        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Drops cached pages, so that the disk is read, except where a write has just been. */
static void forget(int fd, int64_t at, int64_t size) {
    if (size > 0)
        posix_fadvise(fd, at, size, POSIX_FADV_DONTNEED);
}

/* A `count` of 0: only the position of the first block. */
static int sum_local(struct replica_request *request, struct error *err) {
    int64_t highest = replica_epoch(request->replica, err), from;
    autoclose int fd = -1;
    char bytes[REPLICA_SUMS_BLOCK];
    unsigned sums = 0;

    if (highest < 0)
        return -1;
    if (highest > request->epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened in a higher epoch.",
                         request->replica->uid);
    fd = open_data(request->replica, err);
    if (fd < 0)
        return -1;
    from = find_data(fd, request->at, request->end);
    forget(fd, from, request->count * BLOCK);
    for (; sums < request->count && from + sums * BLOCK < request->end; sums++) {
        int64_t left = request->end - from - sums * BLOCK;
        size_t size = left < BLOCK ? (size_t)left : (size_t)BLOCK;

        if (read_data(fd, from + sums * BLOCK, size, bytes) < 0)
            return error_errno(err, ERROR_BACKEND, "reading the data of %s", request->replica->uid);
        md5_bytes(bytes, size, request->sums[sums]);
    }
    request->at = from;
    return (int)sums;
}

/* `size` bytes from `at` on, as they stand on the disk. */
static int replica_read(const struct replica *replica, int64_t at, size_t size, void *ret,
                        struct error *err) {
    autoclose int fd = open_data(replica, err);

    if (fd < 0)
        return -1;
    forget(fd, at, (int64_t)size);
    if (read_data(fd, at, size, ret) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the data of %s", replica->uid);
    return 0;
}

/* ---- requests ---- */

/* A process that has the file open finds the higher epoch, and closes it. */
static int open_local(struct replica_request *request, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct replica *replica = request->replica;
    struct replica_probe probe;

    if (replica_epoch_take(replica, request->epoch, err) < 0)
        return -1;
    replica_probe_settled(replica, request->volume, &probe);
    if (probe.held)
        return error_set(err, ERROR_CONFLICT, "Another program has the replica %s in %s open.",
                         replica->uid, replica->pool);
    *request->data = (struct replica_data){ .host = "" };
    snprintf(request->data->export, sizeof(request->data->export), "%s",
             replica_data_path(arena, replica));
    return 0;
}

static int call_local(void *arg, struct replica_request *request, struct error *err) {
    const struct replica *replica = request->replica;

    (void)arg;
    switch (request->kind) {
    case ACCESS_OPEN:
        return open_local(request, err);
    case ACCESS_CLOSE:
        return 0;
    case ACCESS_PROBE:
        replica_probe(replica, request->volume, request->probe);
        return 0;
    case ACCESS_WRITE_STATE:
        return replica_write_state_in(replica, request->epoch, request->state, err);
    case ACCESS_RESET:
        return replica_reset_in(replica, request->volume, request->bytes, request->epoch, err);
    case ACCESS_FLUSH:
        return replica_flush(replica, err);
    case ACCESS_SUMS:
        return sum_local(request, err);
    case ACCESS_LOCK:
        return replica_lock(replica, request->lock, err);
    case ACCESS_CREATE:
        return replica_create_unless(request->abandoned, replica, request->volume, request->bytes,
                                     err);
    case ACCESS_ADOPT:
        return replica_epoch_take(replica, request->epoch, err);
    case ACCESS_READ:
        return replica_read(replica, request->at, request->size, request->read, err);
    case ACCESS_SNAPSHOT:
        return replica_snapshot_step(replica, request->step, request->name, request->bytes,
                                     request->abandoned, err);
    case ACCESS_SNAPSHOT_SIZE:
        request->bytes = replica_snapshot_size(replica, request->name);
        return 0;
    case ACCESS_BEGIN_LOG:
    case ACCESS_READ_LOG:
        break;
    }
    return replica_request_refuse(request, err);
}

const struct replica_access replica_local = { .call = call_local };

/* ---- requests of any access ---- */

int replica_request(const struct replica_access *access, struct replica_request *request,
                    struct error *err) {
    return access->call(access->arg, request, err);
}

int replica_request_refuse(const struct replica_request *request, struct error *err) {
    return error_set(err, ERROR_BAD_METHOD, "The replica %s has no access of kind %d.",
                     request->replica->uid, (int)request->kind);
}
