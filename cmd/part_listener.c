#include "cmd/part.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "compute/agent/agent.h"
#include "http/listen.h"
#include "http/server.h"
#include "http/unix_socket.h"
#include "identity/own_user.h"
#include "rest/router.h"

#include <unistd.h>

#define DRAIN_MS 5000

static const char *listen_address(const struct parts *parts) {
    return config_text(parts->config, parts->listener->section, parts->listener->address);
}

/* Host names of the service for clients; not checked with identity. */
static void find_names(struct parts *parts) {
    const char *address = listen_address(parts);
    const char *texts[] = {
        parts_node(parts->config),
        unix_socket_path(address) ? NULL : address,
        part_text(parts, "public_endpoint"),
        config_text(parts->config, "compute_agent", "endpoint"),
    };
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(texts); i++)
        if (texts[i])
            parts->names[count++] = http_origin_host(parts->arena, texts[i]);
    if (gethostname(parts->machine, sizeof(parts->machine) - 1) == 0)
        parts->names[count++] = parts->machine;
    parts->origin = (struct http_origin){
        .names = parts->names,
        .any_host = config_bool(parts->config, "DEFAULT", "allow_insecure_listen"),
    };
}

int part_listener_check(struct parts *parts, struct error *err) {
    const char *address = listen_address(parts);

    find_names(parts);
    if (unix_socket_path(address) && parts->there & PART_AGENT) {
        /* the managers must be in this process, or reach it in another way */
        if (parts->there & PART_API)
            parts->settings.agent_endpoint = part_agent_url(parts);
        else if (!config_text(parts->config, "compute_agent", "endpoint"))
            return error_set(err, ERROR_BAD_REQUEST,
                             "[compute_agent] endpoint must be set when the agent listens on a "
                             "Unix socket.");
    }
    if (part_knows_callers(parts) || listen_is_loopback(address) ||
        config_bool(parts->config, "DEFAULT", "allow_insecure_listen"))
        return 0;
    return error_set(
        err, ERROR_BAD_REQUEST,
        "--listen, or %s of [%s]: listening on %s: without identity every client would be an "
        "administrator; listen on a loopback address or set allow_insecure_listen = true",
        parts->listener->address, parts->listener->section, address);
}

static void agent_entry(void *arg, struct http_exchange *exchange) {
    struct parts *parts = arg;
    struct agent *agent = __atomic_load_n(&parts->agent, __ATOMIC_ACQUIRE);

    if (agent) {
        agent_handle(agent, exchange);
        return;
    }
    exchange->status = 503;
    http_reply(exchange);
}

int part_listener_start(struct parts *parts, struct error *err) {
    struct http_mount mounts[3] = { 0 };
    struct http_server_settings settings = {
        .address = listen_address(parts),
        .option =
            arena_format(parts->arena, "--listen, or %s and %s of [%s]", parts->listener->address,
                         parts->listener->port, parts->listener->section),
        .port =
            (unsigned)config_int(parts->config, parts->listener->section, parts->listener->port),
        .mounts = mounts,
    };
    unsigned count = 0;

    config_fill(parts->config, NULL, service_options, &settings);
    if (parts->there & PART_API)
        mounts[count++] = (struct http_mount){ "", api_handle, parts->api };
    if (parts->there & PART_AGENT)
        mounts[count++] = (struct http_mount){ parts->listener->agent, agent_entry, parts };
    if (http_server_start(&settings, &parts->http, err) < 0)
        return -1;
    if (parts->there & PART_API)
        __atomic_store_n(&parts->volume_url, part_listener_url(parts, "/v3"), __ATOMIC_RELEASE);
    return 0;
}

void part_listener_stop(struct parts *parts) {
    http_server_stop(parts->http, DRAIN_MS);
}
