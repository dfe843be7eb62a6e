#include "replication/engine/replica_epoch.h"

#include "common/cleanup.h"
#include "replication/engine/epoch.h"
#include "replication/engine/replica.private.h"

/* epoch_hold() or epoch_take() of the replica's directory. */
static int hold(const struct replica *replica, int (*function)(int, int64_t, struct error *),
                int64_t epoch, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    int fd;

    if (directory < 0)
        return -1;
    fd = function(directory, epoch, err);
    return fd < 0 ? error_context(err, "the replica %s in %s", replica->uid, replica->pool) : fd;
}

int64_t replica_epoch(const struct replica *replica, struct error *err) {
    autoclose int directory = replica_open(replica, err);

    return directory < 0 ? -1 : epoch_read(directory, err);
}

int replica_epoch_take(const struct replica *replica, int64_t epoch, struct error *err) {
    autoclose int fd = hold(replica, epoch_take, epoch, err);

    return fd < 0 ? -1 : 0;
}

int replica_write_state_in(const struct replica *replica, int64_t epoch,
                           const struct replica_state *state, struct error *err) {
    autoclose int fd = hold(replica, epoch_hold, epoch, err);

    return fd < 0 ? -1 : replica_write_state(replica, state, err);
}

int replica_reset_in(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                     int64_t epoch, struct error *err) {
    autoclose int fd = hold(replica, epoch_take, epoch, err);

    return fd < 0 ? -1 : replica_reset(replica, volume, maximum_bytes, err);
}
