/*
 * A volume is served at one host: that of the first connector.  A second host, to which its
 * instance moves, is a client there.
 */
#include "replicated/replicated.private.h"

#include "common/words.h"
#include "json/json.h"

#include <stdint.h>
#include <string.h>

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

/* The present user is moving to this host, or has moved. */
static bool is_moving(const struct replicated_call *call, const char *node, const char *host) {
    const json_t *clients = replicated_clients(call);

    if (replicated_find_client(clients, host))
        return true;
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const char *client = json_text_of(json_array_get(clients, i), "nodeId");

        if (client && words_list_has(call->hosts, client))
            return true;
    }
    return words_list_has(call->hosts, node);
}

/* It stays where it is served, and this host becomes a client. */
static int share(struct replicated_call *call, const char *node,
                 struct replicated_connecting *connecting, struct error *err) {
    bool named = replicated_find_client(replicated_clients(call), connecting->host) != NULL;
    json_t *clients;

    if (connecting->device || !is_moving(call, node, connecting->host))
        return replicated_refuse_host(call, err);
    if (!connecting->known) {
        int listens = check_listens(call, node, err);

        if (listens <= 0)
            return listens < 0 ? -1 : replicated_refuse_host(call, err);
        connecting->known = true;
    }
    if (connecting->requested && named)
        return replicated_await_target(call, node, connecting, err);
    clients = json_array();
    json_array_extend(clients, (json_t *)(uintptr_t)replicated_clients(call));
    if (!named)
        json_array_append_new(clients, json_pack("{s:s}", "nodeId", connecting->host));
    connecting->requested = replicated_publish(call, node, false, clients, err) == 0;
    return connecting->requested ? 0 : -1;
}

static int connect_step(struct replicated_call *call, void *arg, struct error *err) {
    struct replicated_connecting *connecting = arg;
    int found = replicated_read(call, err);
    const char *node;

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    node = replicated_node(call);
    if (!connecting->host)
        connecting->host = node;
    /* A server may use it: it ends with the last connection, whatever their type is now. */
    connecting->device |= *node && replicated_is_device(call);
    if (*node && strcmp(node, connecting->host) != 0)
        return share(call, node, connecting, err);
    if (!*node && !connecting->known && replicated_check_agent(call, connecting->host, err) < 0)
        return -1;
    connecting->known = true;
    if (!connecting->requested || !*node) {
        const json_t *clients = replicated_clients(call);
        /* In the form of a patch: none are no list. */
        json_t *patch = json_array_size(clients) > 0 ? json_deep_copy(clients) : json_null();

        connecting->requested =
            replicated_publish(call, connecting->host, connecting->device, patch, err) == 0;
        return connecting->requested ? 0 : -1;
    }
    return replicated_await_target(call, connecting->host, connecting, err);
}

int replicated_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const json_t *connector, json_t **ret, struct error *err) {
    const struct replicated *backend = handle;
    struct replicated_connecting connecting = {
        .host = json_text_of(connector, "host"),
        .device = strcmp(backend->connection_type, "local") == 0,
    };
    const json_t *export;
    json_t *data;
    struct replicated_call call;
    struct error failure;

    if (connector && !connecting.host)
        return error_set(err, ERROR_BAD_REQUEST, "The connector names no host.");
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(handle, arena, volume, &call, err) < 0)
        return -1;
    call.connects = true;
    if (replicated_walk(&call, connect_step, &connecting, &failure) < 0)
        return replicated_fail_host(&call, &failure, err);
    export = connecting.export;
    if (export)
        data = json_pack("{s:s, s:O*, s:O*, s:O*, s:s, s:b, s:s}", "transport", "tcp", "host",
                         json_object_get(export, "host"), "port", json_object_get(export, "port"),
                         "export", json_object_get(export, "export"), "format", "raw", "tls", true,
                         "tls_directory", backend->tls_directory);
    else if (connecting.device)
        data = json_pack("{s:s, s:s}", "device_path", connecting.path, "format", "raw");
    else
        data = json_pack("{s:s, s:s, s:s, s:s}", "transport", "unix", "socket", connecting.path,
                         "export", "volume", "format", "raw");
    *ret = json_pack("{s:s, s:o}", "driver_volume_type", connecting.device ? "local" : "nbd",
                     "data", data);
    json_object_set_new(json_object_get(*ret, "data"), "name", json_string(volume->name_id));
    return 0;
}

/* The remaining clients keep their exports; the last one removes the target. */
static int disconnect_step(struct replicated_call *call, void *arg, struct error *err) {
    int found = replicated_read(call, err);
    bool last = !call->hosts || !*call->hosts;
    const json_t *clients = replicated_clients(call);
    bool device = replicated_is_device(call);
    json_t *left;

    (void)arg;
    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : 1;
    left = json_array();
    for (size_t i = 0; i < json_array_size(clients); i++) {
        json_t *client = json_array_get(clients, i);
        const char *node = json_text_of(client, "nodeId");

        if (node && words_list_has(call->hosts, node))
            json_array_append(left, client);
    }
    if (!last && json_array_size(left) == json_array_size(clients)) {
        json_decref(left);
        return 1;
    }
    if (json_array_size(left) == 0) {
        json_decref(left);
        left = json_null();
    }
    if (replicated_publish(call, last ? "" : replicated_node(call), device, left, err) < 0)
        return -1;
    return 1;
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
