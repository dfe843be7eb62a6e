/*
 * A volume is served at one host: that of the first connector.  A second host, to which its
 * instance moves, is a client there.
 */
#include "common/clock.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <stdint.h>
#include <string.h>

/* Decisions based on an older version are refused, even without a difference.  `clients` is a new
 * reference, taken. */
static int publish(struct replicated_call *call, const char *node, json_t *clients,
                   struct error *err) {
    char mark[UUID_SIZE];

    return replicated_change(call,
                             json_pack("{s:{s:{s:s}}, s:{s:s, s:o}}", "metadata", "annotations",
                                       ANNOTATION_CONNECTION, clock_uuid(&clock_system, mark),
                                       "publish", "nodeId", node, "clients", clients),
                             err);
}

/* In the form of a patch: none are no list. */
static json_t *all_clients(const struct replicated_call *call) {
    const json_t *clients = replicated_clients(call);

    return json_array_size(clients) > 0 ? json_deep_copy(clients) : json_null();
}

struct connecting {
    const char *host; /* NULL: where it is served already */
    bool known;       /* its agent is known: it can serve, or be a client */
    bool responds;    /* the agent that will serve it reports */
    bool requested;
    const char *socket;
    const json_t *export; /* its client export; NULL: at the socket */
};

static bool is_among(const char *const *hosts, const char *host) {
    for (; hosts && *hosts; hosts++) {
        if (strcmp(*hosts, host) == 0)
            return true;
    }
    return false;
}

static const json_t *find_client(const json_t *clients, const char *host) {
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const json_t *client = json_array_get(clients, i);
        const char *node = json_text_of(client, "nodeId");

        if (node && strcmp(node, host) == 0)
            return client;
    }
    return NULL;
}

/* ---- the target ---- */

static int read_socket(const char *address, const char **ret, struct error *err) {
    static const char mark[] = "socket=";
    const char *socket = strstr(address, mark);

    if (!socket)
        return error_set(err, ERROR_BACKEND, "The volume is served at %s, which is not a socket.",
                         address);
    *ret = socket + strlen(mark);
    return 1;
}

/* The status of a host that was a client before is outdated until the node has observed the spec
 * that names it now. */
static bool is_current(const json_t *volume, const json_t *export, const char *host) {
    const json_t *generation = json_at(volume, "metadata.generation");
    const json_t *spec = json_object_get(volume, "spec");

    return find_client(json_object_get(spec, "clients"), host) &&
           json_int_at(export, "generation") == json_integer_value(generation);
}

/* 1: it is served on `node`, and the host is admitted. */
static int find_target(struct replicated_call *call, const char *node,
                       struct connecting *connecting, struct error *err) {
    struct error failure;
    const json_t *volume =
        document_fetch_below(&call->api, call->arena, &replicated_configs, call->name, "volume",
                             "replicated_volume", &failure);
    const json_t *status = json_object_get(volume, "status");
    const json_t *target = json_object_get(status, "target"), *export;
    const char *serves = json_text_of(target, "nodeId"), *address = json_text_of(target, "address");
    const char *phase = json_text_of(status, "phase"), *state;

    if (!volume)
        return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
    if (!serves || !address || strcmp(serves, node) != 0 || !phase ||
        (strcmp(phase, "Healthy") != 0 && strcmp(phase, "Degraded") != 0))
        return 0;
    if (strcmp(connecting->host, node) == 0)
        return read_socket(address, &connecting->socket, err);
    export = find_client(json_object_get(target, "clients"), connecting->host);
    state = json_text_of(export, "state");
    if (!state || strcmp(state, "Serving") != 0 || !is_current(volume, export, connecting->host))
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
static int check_agent(struct replicated_call *call, const char *host, struct error *err) {
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
static int await_target(struct replicated_call *call, const char *node,
                        struct connecting *connecting, struct error *err) {
    int found = find_target(call, node, connecting, err);

    if (found == 0 && !connecting->responds)
        connecting->responds = find_agent(call, node, err) >= 0;
    return found != 0 || connecting->responds ? found : -1;
}

/* A node has clients only where other nodes can reach it. */
static int check_listens(struct replicated_call *call, const char *node, struct error *err) {
    const json_t *pools = replicated_pools(&call->api, call->arena, err);

    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const char *whose = json_text_of(pool, "node");

        if (whose && strcmp(whose, node) == 0 && json_text_of(pool, "address"))
            return 1;
    }
    return pools ? 0 : -1;
}

/* Nothing has changed. */
static int refuse_host(struct replicated_call *call, struct error *err) {
    call->over = true;
    return error_set(err, ERROR_CONFLICT,
                     "The volume is connected to another host, and to one at a time: it has to be "
                     "detached there first.");
}

/* The present user is moving to this host, or has moved. */
static bool is_moving(const struct replicated_call *call, const char *node, const char *host) {
    const json_t *clients = replicated_clients(call);

    if (find_client(clients, host))
        return true;
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const char *client = json_text_of(json_array_get(clients, i), "nodeId");

        if (client && is_among(call->hosts, client))
            return true;
    }
    return is_among(call->hosts, node);
}

/* It stays where it is served, and this host becomes a client. */
static int share(struct replicated_call *call, const char *node, struct connecting *connecting,
                 struct error *err) {
    bool named = find_client(replicated_clients(call), connecting->host) != NULL;
    json_t *clients;

    if (!is_moving(call, node, connecting->host))
        return refuse_host(call, err);
    if (!connecting->known) {
        int listens = check_listens(call, node, err);

        if (listens <= 0)
            return listens < 0 ? -1 : refuse_host(call, err);
        connecting->known = true;
    }
    if (connecting->requested && named)
        return await_target(call, node, connecting, err);
    clients = json_array();
    json_array_extend(clients, (json_t *)(uintptr_t)replicated_clients(call));
    if (!named)
        json_array_append_new(clients, json_pack("{s:s}", "nodeId", connecting->host));
    connecting->requested = publish(call, node, clients, err) == 0;
    return connecting->requested ? 0 : -1;
}

static int connect_step(struct replicated_call *call, void *arg, struct error *err) {
    struct connecting *connecting = arg;
    int found = replicated_read(call, err);
    const char *node;

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    node = replicated_node(call);
    if (!connecting->host)
        connecting->host = node;
    if (*node && strcmp(node, connecting->host) != 0)
        return share(call, node, connecting, err);
    if (!*node && !connecting->known && check_agent(call, connecting->host, err) < 0)
        return -1;
    connecting->known = true;
    if (!connecting->requested || !*node) {
        connecting->requested = publish(call, connecting->host, all_clients(call), err) == 0;
        return connecting->requested ? 0 : -1;
    }
    return await_target(call, connecting->host, connecting, err);
}

/* A refusal means that nothing has changed, and clients read it: a refusal by the API to this
 * client is none. */
static int fail(const struct replicated_call *call, struct error *failure, struct error *err) {
    if (!call->over && (failure->kind == ERROR_CONFLICT || failure->kind == ERROR_BAD_REQUEST))
        failure->kind = ERROR_BACKEND;
    return error_pass(err, failure);
}

static json_t *socket_data(const char *socket) {
    return json_pack("{s:s, s:s, s:s, s:s}", "transport", "unix", "socket", socket, "export",
                     "volume", "format", "raw");
}

static json_t *client_data(const struct replicated *backend, const json_t *export) {
    return json_pack("{s:s, s:O*, s:O*, s:O*, s:s, s:b, s:s}", "transport", "tcp", "host",
                     json_object_get(export, "host"), "port", json_object_get(export, "port"),
                     "export", json_object_get(export, "export"), "format", "raw", "tls", true,
                     "tls_directory", backend->tls_directory);
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
    call.connects = true;
    if (replicated_walk(&call, connect_step, &connecting, &failure) < 0)
        return fail(&call, &failure, err);
    *ret = json_pack("{s:s, s:o}", "driver_volume_type", "nbd", "data",
                     connecting.export ? client_data(handle, connecting.export)
                                       : socket_data(connecting.socket));
    json_object_set_new(json_object_get(*ret, "data"), "name", json_string(volume->name_id));
    return 0;
}

/* The remaining clients keep their exports; the last one removes the target. */
static json_t *clients_left(const struct replicated_call *call) {
    const json_t *clients = replicated_clients(call);
    json_t *left = json_array();

    for (size_t i = 0; i < json_array_size(clients); i++) {
        json_t *client = json_array_get(clients, i);
        const char *node = json_text_of(client, "nodeId");

        if (node && is_among(call->hosts, node))
            json_array_append(left, client);
    }
    return left;
}

static int disconnect_step(struct replicated_call *call, void *arg, struct error *err) {
    int found = replicated_read(call, err);
    bool last = !call->hosts || !*call->hosts;
    json_t *left;

    (void)arg;
    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : 1;
    left = clients_left(call);
    if (!last && json_array_size(left) == json_array_size(replicated_clients(call))) {
        json_decref(left);
        return 1;
    }
    if (json_array_size(left) == 0) {
        json_decref(left);
        left = json_null();
    }
    return publish(call, last ? "" : replicated_node(call), left, err) < 0 ? -1 : 1;
}

int replicated_disconnect(void *handle, struct arena *arena, const struct driver_volume *volume,
                          struct error *err) {
    struct replicated_call call;

    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    call.connects = true;
    return replicated_walk(&call, disconnect_step, NULL, err);
}
