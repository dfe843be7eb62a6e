#include "replication/engine/replica_access.h"

#include "common/cleanup.h"
#include "replication/engine/replica_epoch.h"
#include "replication/engine/replica_sums.h"

#include <stdio.h>

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

static int sum_local(struct replica_request *request, struct error *err) {
    int64_t highest = replica_epoch(request->replica, err);

    if (highest < 0)
        return -1;
    if (highest > request->epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened in a higher epoch.",
                         request->replica->uid);
    return replica_sums(request->replica, &request->at, request->end, request->count, request->sums,
                        err);
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
