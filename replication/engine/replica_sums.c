#include "replication/engine/replica_sums.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/md5.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

_Static_assert(REPLICA_SUM_SIZE == MD5_SIZE, "sums are MD5");

#define BLOCK ((int64_t)REPLICA_SUMS_BLOCK)

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

static int sum_block(int fd, int64_t at, size_t size, unsigned char ret[REPLICA_SUM_SIZE]) {
    char bytes[REPLICA_SUMS_BLOCK];

    if (read_data(fd, at, size, bytes) < 0)
        return -1;
    md5_bytes(bytes, size, ret);
    return 0;
}

/* Drops cached pages, so that the disk is read, except where a write has just been. */
static void forget(int fd, int64_t at, int64_t size) {
    if (size > 0)
        posix_fadvise(fd, at, size, POSIX_FADV_DONTNEED);
}

int replica_sums(const struct replica *replica, int64_t *at, int64_t end, unsigned count,
                 unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err) {
    autoclose int fd = open_data(replica, err);
    int64_t from;
    unsigned sums = 0;

    if (fd < 0)
        return -1;
    from = find_data(fd, *at, end);
    forget(fd, from, count * BLOCK);
    for (; sums < count && from + sums * BLOCK < end; sums++) {
        int64_t left = end - from - sums * BLOCK;

        if (sum_block(fd, from + sums * BLOCK, left < BLOCK ? (size_t)left : (size_t)BLOCK,
                      ret[sums]) < 0)
            return error_errno(err, ERROR_BACKEND, "reading the data of %s", replica->uid);
    }
    *at = from;
    return (int)sums;
}

int replica_read(const struct replica *replica, int64_t at, size_t size, void *ret,
                 struct error *err) {
    autoclose int fd = open_data(replica, err);

    if (fd < 0)
        return -1;
    forget(fd, at, (int64_t)size);
    if (read_data(fd, at, size, ret) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the data of %s", replica->uid);
    return 0;
}
