#include "replication/node/unresponsive.h"

int unresponsive_refuse(const char *pool, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "The pool in %s does not answer.", pool);
}

static int call_unresponsive(void *arg, struct replica_request *request, struct error *err) {
    const char *pool = request->replica->pool;

    (void)arg;
    if (request->kind == ACCESS_CLOSE)
        return 0;
    if (request->kind != ACCESS_PROBE)
        return unresponsive_refuse(pool, err);
    *request->probe = (struct replica_probe){ .health = REPLICA_FAILING, .epoch = -1 };
    unresponsive_refuse(pool, &request->probe->why);
    return 0;
}

const struct replica_access replica_unresponsive = { .call = call_unresponsive };
