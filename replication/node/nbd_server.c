#include "replication/node/nbd_server.h"

#include "common/arena.h"
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "replication/engine/daemon.h"
#include "replication/node/tls_directory.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PROGRAM    "qemu-storage-daemon"
#define DEFAULT_TIMEOUT_MS 10000
#define CLIENTS            100
#define CREDENTIALS        "tls"
#define AUTHORIZATION      "authorization"

struct launch {
    const struct nbd_server_settings *settings;
    const struct nbd_server_request *request;
    struct qmp *qmp;
};

struct nbd_server_settings nbd_server_with_defaults(const struct nbd_server_settings *settings) {
    struct nbd_server_settings ret = *settings;

    if (!ret.program)
        ret.program = DEFAULT_PROGRAM;
    if (ret.timeout_ms <= 0)
        ret.timeout_ms = DEFAULT_TIMEOUT_MS;
    return ret;
}

int nbd_server_execute(const struct nbd_server_settings *settings, struct qmp *qmp,
                       const char *command, json_t *arguments, struct error *err) {
    autoarena struct arena *arena = arena_new();

    return qmp_execute(qmp, arena, command, arguments, settings->timeout_ms, NULL, err);
}

static int execute(const struct launch *launch, const char *command, json_t *arguments,
                   struct error *err) {
    return nbd_server_execute(launch->settings, launch->qmp, command, arguments, err);
}

/* ---- authorization ---- */

/* Characters that certificates contain literally, and that are none of a pattern. */
int nbd_server_check_client(const char *client, struct error *err) {
    if (*client && client[strspn(client, "abcdefghijklmnopqrstuvwxyz"
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:")] == '\0')
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid host name %s: letters, digits, '-', '.', '_' and ':' are accepted.",
                     client);
}

static void put_rule(json_t *rules, const char *policy, const char *format, const char *match) {
    json_array_append_new(
        rules, json_pack("{s:s, s:s, s:s}", "match", match, "policy", policy, "format", format));
}

/* The daemon matches the whole name of the certificate, with commas between its parts.  A comma
 * within a part has a backslash before it; such names are refused. */
static int add_client(const struct launch *launch, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *client = launch->request->client;
    json_t *rules;

    if (nbd_server_check_client(client, err) < 0)
        return -1;
    rules = json_array();
    put_rule(rules, "deny", "glob", "*\\*");
    put_rule(rules, "allow", "exact", arena_join(arena, "CN=", client, NULL));
    put_rule(rules, "allow", "glob", arena_join(arena, "CN=", client, ",*", NULL));
    put_rule(rules, "allow", "glob", arena_join(arena, "*,CN=", client, NULL));
    put_rule(rules, "allow", "glob", arena_join(arena, "*,CN=", client, ",*", NULL));
    return execute(launch, "object-add",
                   json_pack("{s:s, s:s, s:s, s:o}", "qom-type", "authz-list", "id", AUTHORIZATION,
                             "policy", "deny", "rules", rules),
                   err);
}

static int add_credentials(const struct launch *launch, struct error *err) {
    if (launch->settings->tls_directory &&
        (tls_directory_check(launch->settings->tls_directory, err) < 0 ||
         execute(launch, "object-add",
                 json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "qom-type", "tls-creds-x509", "id",
                           CREDENTIALS, "dir", launch->settings->tls_directory, "endpoint",
                           "server", "verify-peer", true, "priority", DAEMON_TLS),
                 err) < 0))
        return -1;
    if (launch->request->subject)
        return execute(launch, "object-add",
                       json_pack("{s:s, s:s, s:s}", "qom-type", "authz-simple", "id", AUTHORIZATION,
                                 "identity", launch->request->subject),
                       err);
    return launch->request->client ? add_client(launch, err) : 0;
}

/* ---- listening ---- */

static int listen_at(const struct launch *launch, unsigned port, struct error *err) {
    const struct nbd_server_settings *settings = launch->settings;
    char text[12];
    json_t *address;

    assert(!launch->request->client || settings->tls_directory); /* never to all hosts */
    snprintf(text, sizeof(text), "%u", port);
    address = json_pack("{s:s, s:{s:s, s:s}}", "type", "inet", "data", "host", settings->host,
                        "port", text);
    return execute(
        launch, "nbd-server-start",
        json_pack("{s:o, s:s*, s:s*, s:i}", "addr", address, "tls-creds",
                  settings->tls_directory ? CREDENTIALS : NULL, "tls-authz",
                  launch->request->client || launch->request->subject ? AUTHORIZATION : NULL,
                  "max-connections", CLIENTS),
        err);
}

/* At the required port, or at the first free one, from a random one. */
static int listen_somewhere(const struct launch *launch, unsigned *ret_port, struct error *err) {
    const struct nbd_server_settings *settings = launch->settings;
    unsigned count = settings->last_port - settings->first_port + 1, first;

    *ret_port = launch->request->port;
    if (*ret_port > 0)
        return listen_at(launch, *ret_port, err) < 0
                   ? error_context(err, "listening at %s port %u, which was reported before",
                                   settings->host, *ret_port)
                   : 0;
    assert(settings->first_port <= settings->last_port && settings->last_port <= UINT16_MAX);
    clock_system.random(clock_system.arg, &first, sizeof(first));
    for (unsigned i = 0; i < count; i++) {
        *ret_port = settings->first_port + (first % count + i) % count;
        if (listen_at(launch, *ret_port, err) == 0)
            return 0;
        /* Other errors apply to all ports. */
        if (err->kind != ERROR_BACKEND || !strstr(err->message, "already in use"))
            return error_context(err, "listening at %s port %u", settings->host, *ret_port);
    }
    return error_context(err, "no port of %u-%u is free", settings->first_port,
                         settings->last_port);
}

/* ---- start ---- */

int nbd_server_start(const struct nbd_server_settings *settings, const char *run,
                     const struct nbd_server_request *request, unsigned *ret_port, struct qmp **ret,
                     struct error *err) {
    struct launch launch = { .settings = settings, .request = request };

    if (request->client && !settings->tls_directory)
        return error_set(err, ERROR_BAD_REQUEST, "Exports to other hosts need certificates.");
    if (daemon_start(run, settings->program, settings->timeout_ms, &launch.qmp, err) < 0)
        return -1;
    /* The daemon starts with a socket of this host, without exports. */
    if (add_credentials(&launch, err) < 0 || execute(&launch, "nbd-server-stop", NULL, err) < 0 ||
        listen_somewhere(&launch, ret_port, err) < 0) {
        qmp_close(launch.qmp);
        return -1;
    }
    *ret = launch.qmp;
    return 0;
}
