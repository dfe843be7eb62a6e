/*
 * The directory of a replica, in its pool.
 */
#include "replication/engine/replica.private.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int replica_errno(struct error *err, const struct replica *replica, const char *what) {
    enum error_kind kind = ERROR_UNAVAILABLE; /* its condition is unknown */

    if (errno == ENOENT)
        kind = ERROR_NOT_FOUND;
    else if (errno == ELOOP || errno == ENOTDIR || errno == EISDIR || errno == ENXIO)
        kind = ERROR_BACKEND; /* a file of a wrong type */
    return error_errno(err, kind, "%s of the replica %s in %s", what, replica->uid, replica->pool);
}

int replica_open_pool(const struct replica *replica, struct error *err) {
    int fd;

    if (!uuid_is_canonical(replica->uid))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid replica name %.64s.", replica->uid);
    fd = open(replica->pool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? replica_errno(err, replica, "opening the pool") : fd;
}

int replica_open(const struct replica *replica, struct error *err) {
    autoclose int pool = replica_open_pool(replica, err);
    int fd;

    if (pool < 0)
        return -1;
    fd = openat(pool, replica->uid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? replica_errno(err, replica, "opening the directory") : fd;
}
