#include "replication/engine/replica_access.h"

#include "common/cleanup.h"
#include "replication/engine/replica_epoch.h"
#include "replication/engine/replica_sums.h"

#include <stdio.h>

/* A process that has the file open finds the higher epoch, and closes it. */
static int open_local(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                      struct replica_data *ret, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct replica_probe probe;

    (void)arg;
    if (replica_epoch_take(replica, epoch, err) < 0)
        return -1;
    replica_probe_settled(replica, volume, &probe);
    if (probe.held)
        return error_set(err, ERROR_CONFLICT, "Another program has the replica %s in %s open.",
                         replica->uid, replica->pool);
    *ret = (struct replica_data){ .host = "" };
    snprintf(ret->export, sizeof(ret->export), "%s", replica_data_path(arena, replica));
    return 0;
}

static int close_local(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    (void)arg, (void)replica, (void)epoch, (void)err;
    return 0;
}

static void probe_local(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                        struct replica_probe *ret) {
    (void)arg, (void)epoch;
    replica_probe(replica, volume, ret);
}

static int write_state_local(void *arg, const struct replica *replica, int64_t epoch,
                             const struct replica_state *state, struct error *err) {
    (void)arg;
    return replica_write_state_in(replica, epoch, state, err);
}

static int reset_local(void *arg, const struct replica *replica, const char *volume,
                       int64_t maximum_bytes, int64_t epoch, struct error *err) {
    (void)arg;
    return replica_reset_in(replica, volume, maximum_bytes, epoch, err);
}

static int flush_local(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    (void)arg, (void)epoch;
    return replica_flush(replica, err);
}

static int sums_local(void *arg, const struct replica *replica, int64_t epoch, int64_t *at,
                      int64_t end, unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE],
                      struct error *err) {
    int64_t highest = replica_epoch(replica, err);

    (void)arg;
    if (highest < 0)
        return -1;
    if (highest > epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened in a higher epoch.",
                         replica->uid);
    return replica_sums(replica, at, end, count, ret, err);
}

static int lock_local(void *arg, const struct replica *replica, int *ret, struct error *err) {
    (void)arg;
    return replica_lock(replica, ret, err);
}

static int create_local(void *arg, const struct replica *replica, const char *volume,
                        int64_t maximum_bytes, struct error *err) {
    (void)arg;
    return replica_create(replica, volume, maximum_bytes, NULL, err);
}

static int adopt_local(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    (void)arg;
    return replica_epoch_take(replica, epoch, err);
}

static int read_local(void *arg, const struct replica *replica, int64_t at, size_t size, void *ret,
                      struct error *err) {
    (void)arg;
    return replica_read(replica, at, size, ret, err);
}

static int snapshot_local(void *arg, const struct replica *replica, enum replica_snapshot_step step,
                          const char *name, int64_t size_bytes, struct error *err) {
    (void)arg;
    return replica_snapshot_step(replica, step, name, size_bytes, NULL, err);
}

static int64_t snapshot_size_local(void *arg, const struct replica *replica, const char *name) {
    (void)arg;
    return replica_snapshot_size(replica, name);
}

const struct replica_access replica_local = {
    .open = open_local,
    .close = close_local,
    .probe = probe_local,
    .write_state = write_state_local,
    .reset = reset_local,
    .flush = flush_local,
    .sums = sums_local,
    .lock = lock_local,
    .create = create_local,
    .adopt = adopt_local,
    .read = read_local,
    .snapshot = snapshot_local,
    .snapshot_size = snapshot_size_local,
};
