/*
 * Where a volume is served, and its publication there.
 */
#include "common/clock.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <string.h>

#define SOCKET "socket=" /* precedes its path in the address of a target */
#define DEVICE "/dev/"   /* begins that of a device */

int replicated_publish(struct replicated_call *call, const char *node, bool device, json_t *clients,
                       struct error *err) {
    char mark[UUID_SIZE];

    call->mark = arena_text(call->arena, clock_uuid(&clock_system, mark));
    return replicated_change(call,
                             json_pack("{s:{s:{s:s}}, s:{s:s, s:o, s:s}}", "metadata",
                                       "annotations", ANNOTATION_CONNECTION, call->mark, "publish",
                                       "nodeId", node, "clients", clients, "export",
                                       device ? "device" : "nbd"),
                             err);
}

bool replicated_is_device(const struct replicated_call *call) {
    return json_text_is(json_object_get(call->config, "publish"), "export", "device");
}

int replicated_refuse_host(struct replicated_call *call, struct error *err) {
    call->over = true;
    return error_set(err, ERROR_CONFLICT,
                     "The volume is connected to another host, and to one at a time: it has to be "
                     "detached there first.");
}

/* A refusal means that nothing has changed, and clients read it: a refusal by the API to this
 * client is none. */
int replicated_fail_host(const struct replicated_call *call, struct error *failure,
                         struct error *err) {
    if (!call->over && (failure->kind == ERROR_CONFLICT || failure->kind == ERROR_BAD_REQUEST))
        failure->kind = ERROR_BACKEND;
    return error_pass(err, failure);
}

const json_t *replicated_find_client(const json_t *clients, const char *host) {
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const json_t *client = json_array_get(clients, i);
        const char *node = json_text_of(client, "nodeId");

        if (node && strcmp(node, host) == 0)
            return client;
    }
    return NULL;
}

/* 1: it is served on `node`, and the host is admitted. */
static int find_target(struct replicated_call *call, const char *node,
                       struct replicated_connecting *connecting, struct error *err) {
    struct error failure;
    const json_t *volume =
        document_fetch_below(&call->api, call->arena, &replicated_configs, call->name, "volume",
                             "replicated_volume", &failure);
    const json_t *status = json_object_get(volume, "status");
    const json_t *target = json_object_get(status, "target"), *export;
    const char *serves = json_text_of(target, "nodeId"), *address = json_text_of(target, "address");
    const char *phase = json_text_of(status, "phase");

    if (!volume)
        return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
    if (!serves || !address || strcmp(serves, node) != 0 || !phase ||
        (strcmp(phase, "Healthy") != 0 && strcmp(phase, "Degraded") != 0))
        return 0;
    if (strcmp(connecting->host, node) == 0 && connecting->device) {
        connecting->path = address;
        return strncmp(address, DEVICE, strlen(DEVICE)) == 0; /* or it has been served otherwise */
    }
    if (strcmp(connecting->host, node) == 0) {
        const char *socket = strstr(address, SOCKET);

        if (!socket) /* it has been served as a device until now */
            return 0;
        connecting->path = socket + strlen(SOCKET);
        return 1;
    }
    export = replicated_find_client(json_object_get(target, "clients"), connecting->host);
    /* The status of a host that was a client before is outdated until the node has observed the
     * spec that names it now. */
    if (!json_text_is(export, "state", "Serving") ||
        !replicated_find_client(json_at(volume, "spec.clients"), connecting->host) ||
        json_int_at(export, "generation") != json_int_at(volume, "metadata.generation"))
        return 0;
    connecting->export = export;
    return 1;
}

/* 1: the host has an agent; 0: none.  One that does not report is waited for as long as for a
 * restarted API, which has no reports yet. */
static int find_agent(struct replicated_call *call, const char *host, struct error *err) {
    const json_t *pools = replicated_pools(&call->api, call->arena, err);
    bool unresponsive = false;

    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const char *node = json_text_of(pool, "node");

        if (!node || strcmp(node, host) != 0)
            continue;
        if (!json_is_false(json_object_get(pool, "up")))
            return 1;
        unresponsive = true;
    }
    if (unresponsive)
        return error_set(
            err, ERROR_UNAVAILABLE,
            "The storage agent of host %s does not respond, and the volume is not served yet.",
            host);
    return pools ? 0 : -1;
}

/* A host without an agent would be waited for until the deadline. */
int replicated_check_agent(struct replicated_call *call, const char *host, struct error *err) {
    int found = find_agent(call, host, err);

    if (found != 0)
        return found < 0 ? -1 : 0;
    call->over = true;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Host %s has no storage agent with a pool: a replicated volume is served by "
                     "the host that it is connected to.",
                     host);
}

/* An unresponsive agent continues its present targets; it is not waited for with new ones. */
int replicated_await_target(struct replicated_call *call, const char *node,
                            struct replicated_connecting *connecting, struct error *err) {
    int found = find_target(call, node, connecting, err);

    if (found == 0 && !connecting->responds)
        connecting->responds = find_agent(call, node, err) >= 0;
    return found != 0 || connecting->responds ? found : -1;
}
