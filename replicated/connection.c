/*
 * A volume is served to one host: that of the connector.
 */
#include "common/clock.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <string.h>

/* Whoever decided by an earlier look is refused, also where the node stays the same. */
static int publish(struct replicated_call *call, const char *node, struct error *err) {
    char mark[UUID_SIZE];

    return replicated_change(call,
                             json_pack("{s:{s:{s:s}}, s:{s:s}}", "metadata", "annotations",
                                       ANNOTATION_CONNECTION, clock_uuid(&clock_system, mark),
                                       "publish", "nodeId", node),
                             err);
}

struct connecting {
    const char *host; /* NULL: where it is served already */
    bool known;       /* that it can serve */
    bool said;
    const char *socket;
};

/* 1: it is served there, at *ret. */
static int find_socket(struct replicated_call *call, const char *host, const char **ret,
                       struct error *err) {
    static const char mark[] = "socket=";
    struct error failure;
    const json_t *volume =
        document_fetch_below(&call->api, call->arena, &replicated_configs, call->name, "volume",
                             "replicated_volume", &failure);
    const json_t *status = json_object_get(volume, "status");
    const json_t *target = json_object_get(status, "target");
    const char *node = json_text_of(target, "nodeId"), *address = json_text_of(target, "address");
    const char *phase = json_text_of(status, "phase"), *socket;

    if (!volume)
        return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
    if (!node || !address || strcmp(node, host) != 0 || !phase ||
        (strcmp(phase, "Healthy") != 0 && strcmp(phase, "Degraded") != 0))
        return 0;
    socket = strstr(address, mark);
    if (!socket)
        return error_set(err, ERROR_BACKEND, "The volume is served at %s, which is no socket.",
                         address);
    *ret = socket + strlen(mark);
    return 1;
}

/* A host without would be waited for until the patience is over. */
static int check_agent(struct replicated_call *call, const char *host, struct error *err) {
    const json_t *pools = replicated_pools(&call->api, call->arena, err);

    for (size_t i = 0; i < json_array_size(pools); i++) {
        const char *node = json_text_of(json_array_get(pools, i), "node");

        if (node && strcmp(node, host) == 0)
            return 0;
    }
    call->over = pools != NULL;
    return pools ? error_set(err, ERROR_BAD_REQUEST,
                             "Host %s has no storage agent with a pool: a replicated volume is "
                             "served by the host that it is connected to.",
                             host)
                 : -1;
}

/* Nothing has begun. */
static int refuse_host(struct replicated_call *call, struct error *err) {
    call->over = true;
    return error_set(err, ERROR_CONFLICT,
                     "The volume is connected to another host, and to one at a time: it has to be "
                     "detached there first.");
}

static int connect_step(struct replicated_call *call, void *arg, struct error *err) {
    struct connecting *connecting = arg;
    int found = replicated_look(call, err);
    const char *node;

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1
                         : error_set(err, ERROR_NOT_FOUND,
                                     "There is no volume config %s of this volume.", call->name);
    node = replicated_node(call);
    if (!connecting->host)
        connecting->host = node;
    if (*node && strcmp(node, connecting->host) != 0)
        return refuse_host(call, err);
    if (!*node && !connecting->known && check_agent(call, connecting->host, err) < 0)
        return -1;
    connecting->known = true;
    if (!connecting->said || !*node) {
        connecting->said = publish(call, connecting->host, err) == 0;
        return connecting->said ? 0 : -1;
    }
    return find_socket(call, connecting->host, &connecting->socket, err);
}

/* A refusal says that nothing has begun, and clients read it: what the API refuses to us is
 * none. */
static int fail(const struct replicated_call *call, struct error *failure, struct error *err) {
    if (!call->over && (failure->kind == ERROR_CONFLICT || failure->kind == ERROR_BAD_REQUEST))
        failure->kind = ERROR_BACKEND;
    return error_pass(err, failure);
}

int replicated_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const json_t *connector, json_t **ret, struct error *err) {
    struct connecting connecting = { .host = json_text_of(connector, "host") };
    struct replicated_call call;
    struct error failure;

    if (connector && !connecting.host)
        return error_set(err, ERROR_BAD_REQUEST, "The connector names no host.");
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    if (replicated_walk(&call, connect_step, &connecting, &failure) < 0)
        return fail(&call, &failure, err);
    *ret = json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:s}}", "driver_volume_type", "nbd", "data",
                     "transport", "unix", "socket", connecting.socket, "export", "volume", "format",
                     "raw", "name", volume->name_id);
    return 0;
}

static int disconnect_step(struct replicated_call *call, void *arg, struct error *err) {
    int found = replicated_look(call, err);

    (void)arg;
    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : 1;
    return publish(call, "", err) < 0 ? -1 : 1;
}

int replicated_disconnect(void *handle, struct arena *arena, const struct driver_volume *volume,
                          struct error *err) {
    struct replicated_call call;

    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    return replicated_walk(&call, disconnect_step, NULL, err);
}
