#include "replication/node/unresponsive.h"

int unresponsive_refuse(const char *pool, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "The pool in %s does not answer.", pool);
}

static int open_unresponsive(void *arg, const struct replica *replica, const char *volume,
                             int64_t epoch, struct replica_data *ret, struct error *err) {
    (void)arg, (void)volume, (void)epoch, (void)ret;
    return unresponsive_refuse(replica->pool, err);
}

static int close_unresponsive(void *arg, const struct replica *replica, int64_t epoch,
                              struct error *err) {
    (void)arg, (void)replica, (void)epoch, (void)err;
    return 0;
}

static void probe_unresponsive(void *arg, const struct replica *replica, const char *volume,
                               int64_t epoch, struct replica_probe *ret) {
    (void)arg, (void)volume, (void)epoch;
    *ret = (struct replica_probe){ .health = REPLICA_FAILING, .epoch = -1 };
    unresponsive_refuse(replica->pool, &ret->why);
}

static int write_state_unresponsive(void *arg, const struct replica *replica, int64_t epoch,
                                    const struct replica_state *state, struct error *err) {
    (void)arg, (void)epoch, (void)state;
    return unresponsive_refuse(replica->pool, err);
}

static int reset_unresponsive(void *arg, const struct replica *replica, const char *volume,
                              int64_t maximum_bytes, int64_t epoch, struct error *err) {
    (void)arg, (void)volume, (void)maximum_bytes, (void)epoch;
    return unresponsive_refuse(replica->pool, err);
}

static int flush_unresponsive(void *arg, const struct replica *replica, int64_t epoch,
                              struct error *err) {
    (void)arg, (void)epoch;
    return unresponsive_refuse(replica->pool, err);
}

const struct replica_access replica_unresponsive = {
    .open = open_unresponsive,
    .close = close_unresponsive,
    .probe = probe_unresponsive,
    .write_state = write_state_unresponsive,
    .reset = reset_unresponsive,
    .flush = flush_unresponsive,
};
