/*
 * Requests of a test for access to a replica, a function for each kind.
 */
#pragma once

#include "replication/engine/replica_access.h"

#define REPLICA_REQUEST(wanted, ...)                                                              \
    replica_request(access,                                                                       \
                    &(struct replica_request){ .kind = wanted, .replica = replica, __VA_ARGS__ }, \
                    error)

static inline int request_open(const struct replica_access *access, const struct replica *replica,
                               const char *volume, int64_t epoch, struct replica_data *ret,
                               struct error *error) {
    return REPLICA_REQUEST(ACCESS_OPEN, .volume = volume, .epoch = epoch, .data = ret);
}

static inline int request_close(const struct replica_access *access, const struct replica *replica,
                                int64_t epoch, struct error *error) {
    return REPLICA_REQUEST(ACCESS_CLOSE, .epoch = epoch);
}

static inline int request_probe(const struct replica_access *access, const struct replica *replica,
                                const char *volume, int64_t epoch, struct replica_probe *ret,
                                struct error *error) {
    return REPLICA_REQUEST(ACCESS_PROBE, .volume = volume, .epoch = epoch, .probe = ret);
}

static inline int request_write_state(const struct replica_access *access,
                                      const struct replica *replica, int64_t epoch,
                                      const struct replica_state *state, struct error *error) {
    return REPLICA_REQUEST(ACCESS_WRITE_STATE, .epoch = epoch, .state = state);
}

static inline int request_reset(const struct replica_access *access, const struct replica *replica,
                                const char *volume, int64_t maximum_bytes, int64_t epoch,
                                struct error *error) {
    return REPLICA_REQUEST(ACCESS_RESET, .volume = volume, .bytes = maximum_bytes, .epoch = epoch);
}

static inline int request_flush(const struct replica_access *access, const struct replica *replica,
                                int64_t epoch, struct error *error) {
    return REPLICA_REQUEST(ACCESS_FLUSH, .epoch = epoch);
}

static inline int request_sums(const struct replica_access *access, const struct replica *replica,
                               int64_t epoch, int64_t *at, int64_t end, unsigned count,
                               unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *error) {
    struct replica_request request = { .kind = ACCESS_SUMS,
                                       .replica = replica,
                                       .epoch = epoch,
                                       .at = *at,
                                       .end = end,
                                       .count = count,
                                       .sums = ret };
    int result = replica_request(access, &request, error);

    *at = request.at;
    return result;
}

static inline int request_lock(const struct replica_access *access, const struct replica *replica,
                               int *ret, struct error *error) {
    return REPLICA_REQUEST(ACCESS_LOCK, .lock = ret);
}

static inline int request_create(const struct replica_access *access, const struct replica *replica,
                                 const char *volume, int64_t maximum_bytes, struct error *error) {
    return REPLICA_REQUEST(ACCESS_CREATE, .volume = volume, .bytes = maximum_bytes);
}

static inline int request_adopt(const struct replica_access *access, const struct replica *replica,
                                int64_t epoch, struct error *error) {
    return REPLICA_REQUEST(ACCESS_ADOPT, .epoch = epoch);
}

static inline int request_read(const struct replica_access *access, const struct replica *replica,
                               int64_t at, size_t size, void *ret, struct error *error) {
    return REPLICA_REQUEST(ACCESS_READ, .at = at, .size = size, .read = ret);
}

static inline int request_snapshot(const struct replica_access *access,
                                   const struct replica *replica, enum replica_snapshot_step step,
                                   const char *name, int64_t size_bytes, struct error *error) {
    return REPLICA_REQUEST(ACCESS_SNAPSHOT, .step = step, .name = name, .bytes = size_bytes);
}

static inline int64_t request_snapshot_size(const struct replica_access *access,
                                            const struct replica *replica, const char *name) {
    struct replica_request request = { .kind = ACCESS_SNAPSHOT_SIZE,
                                       .replica = replica,
                                       .name = name };
    struct error ignored;

    return replica_request(access, &request, &ignored) < 0 ? -1 : request.bytes;
}

static inline int request_begin_log(const struct replica_access *access,
                                    const struct replica *replica, int64_t epoch,
                                    const struct generation_id *before,
                                    const struct generation_id *next, struct error *error) {
    return REPLICA_REQUEST(ACCESS_BEGIN_LOG, .epoch = epoch, .before = before, .next = next);
}

static inline int request_read_log(const struct replica_access *access,
                                   const struct replica *replica, int64_t epoch,
                                   struct arena *arena, struct write_log *ret,
                                   struct error *error) {
    return REPLICA_REQUEST(ACCESS_READ_LOG, .epoch = epoch, .arena = arena, .log = ret);
}
