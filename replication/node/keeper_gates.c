/*
 * Who else is let in to a volume that is served here: gates (gates.h) for the hosts that its
 * document names.
 */
#include "replication/node/keeper.private.h"

static int64_t timeout_of(const struct keeper *keeper) {
    return keeper->settings->timeout_ms > 0 ? keeper->settings->timeout_ms : 10000;
}

int keeper_shut_gates(struct keeper *keeper, struct error *err) {
    return gates_shut(keeper->run, timeout_of(keeper), err);
}

int keeper_end_gates(struct keeper *keeper, struct error *err) {
    return gates_end(keeper->run, timeout_of(keeper), err);
}

static int refuse(const struct assignment_volume *wanted, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "This node lets no other host in, and %s is to be: [storage] listen says "
                     "where.",
                     wanted->clients[0].node);
}

int keeper_open_gates(struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;
    const struct gates_request request = {
        .run = keeper->run,
        .volume = keeper->uid,
        .bytes = keeper->status.size_bytes,
        .clients = wanted->clients,
        .count = wanted->client_count,
    };

    if (wanted->client_count == 0 || wanted->closed)
        return keeper_end_gates(keeper, err);
    if (!keeper->settings->gates)
        return keeper_end_gates(keeper, err) < 0 ? -1 : refuse(wanted, err);
    return gates_keep(keeper->settings->gates, &request, keeper->ports, err);
}
