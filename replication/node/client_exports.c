#include "replication/node/client_exports.h"

#include "common/arena.h"
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/engine/target.h"
#include "replication/node/manifest.h"
#include "json/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define RUN_MOST  (sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/qmp"))
#define SOURCE    "source"
#define MARK_SIZE 64

struct export {
    const char *run;    /* its run directory */
    const char *client; /* NULL: unused */
    unsigned port;
    int64_t bytes;
    const char *mark; /* of the volume's daemon */
};

static const char *run_of(struct arena *arena, const char *run, unsigned slot) {
    return arena_format(arena, "%s/c%u", run, slot);
}

/* ---- end ---- */

static int end(const char *run, int64_t timeout_ms, struct error *err) {
    if (access(run, F_OK) != 0)
        return 0;
    if (daemon_kill(run, timeout_ms, err) < 0)
        return -1;
    manifest_remove(run);
    daemon_clear(run);
    return 0;
}

int client_exports_stop(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int outcome = 0;

    for (unsigned i = 0; i < CLIENT_EXPORTS_MOST; i++) {
        const char *own = run_of(arena, run, i);

        if (access(own, F_OK) == 0 && daemon_kill(own, timeout_ms, err) < 0)
            outcome = -1;
    }
    return outcome;
}

int client_exports_end(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int outcome = 0;

    for (unsigned i = 0; i < CLIENT_EXPORTS_MOST; i++) {
        if (end(run_of(arena, run, i), timeout_ms, err) < 0)
            outcome = -1;
    }
    return outcome;
}

/* ---- begin ---- */

static int launch(const struct client_exports_settings *settings,
                  const struct client_exports_request *request, struct export *export,
                  const char *path, struct error *err) {
    const struct nbd_server_settings listener = nbd_server_with_defaults(&settings->listener);
    const struct nbd_server_request to = { .client = export->client, .port = export->port };
    struct qmp *qmp = NULL;
    struct error ignored;
    int outcome;

    if (strlen(export->run) > RUN_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "The path of a socket would be too long: %s.",
                         export->run);
    if (mkdir(export->run, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", export->run);
    if (daemon_kill(export->run, listener.timeout_ms, err) < 0)
        return -1;
    outcome = nbd_server_start(&listener, export->run, &to, &export->port, &qmp, err);
    /* reconnect-delay=0: a request in flight when the volume's daemon ends is not sent to the next.
     */
    if (outcome == 0)
        outcome = nbd_server_execute(&listener, qmp, "blockdev-add",
                                     json_pack("{s:s, s:s, s:s, s:i, s:s, s:{s:s, s:s}}", "driver",
                                               "nbd", "node-name", SOURCE, "export", TARGET_EXPORT,
                                               "reconnect-delay", 0, "discard", "unmap", "server",
                                               "type", "unix", "path", path),
                                     err);
    if (outcome == 0)
        outcome = nbd_server_execute(&listener, qmp, "block-export-add",
                                     json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id",
                                               SOURCE, "node-name", SOURCE, "name", request->volume,
                                               "writable", true),
                                     err);
    qmp_close(qmp);
    if (outcome < 0)
        daemon_kill(export->run, listener.timeout_ms, &ignored);
    return outcome;
}

/* The mark identifies the daemon of the volume by its socket. */
static int exports_begin(const struct client_exports_settings *settings,
                         const struct client_exports_request *request,
                         const struct export_client *client, struct export *export,
                         struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = daemon_path(arena, request->run, "nbd");
    bool was = export->client != NULL;
    struct stat status;
    char mark[MARK_SIZE];

    if (nbd_server_check_client(client->node, err) < 0)
        return -1;
    if (stat(path, &status) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "stat %s", path);
    snprintf(mark, sizeof(mark), "%ju.%jd.%ld", (uintmax_t)status.st_ino,
             (intmax_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    if (was && export->bytes == request->bytes && export->mark && strcmp(export->mark, mark) == 0 &&
        daemon_runs(export->run))
        return 0;
    export->client = client->node;
    export->port = was ? export->port : client->port;
    export->bytes = request->bytes;
    export->mark = mark;
    if (launch(settings, request, export, path, err) < 0)
        return error_context(err, "exporting to host %s", client->node);
    assert(export->port > 0 && export->port <= UINT16_MAX);
    manifest_write(
        export->run,
        json_text(arena,
                  json_keep(arena, json_pack("{s:s, s:i, s:I, s:s}", "client", export->client,
                                             "port", (int)export->port, "bytes",
                                             (json_int_t) export->bytes, "mark", export->mark))));
    log_info(NULL, "volume exported to another host", "volume_id", request->volume, "host",
             client->node, "port", LOG_INT(export->port), NULL);
    return 0;
}

/* ---- reconciliation ---- */

static bool is_admitted(const struct client_exports_request *request, const char *client) {
    for (unsigned i = 0; i < request->count; i++) {
        if (strcmp(request->clients[i].node, client) == 0)
            return true;
    }
    return false;
}

/* The client's, or an unused one. */
static struct export *export_find(struct export exports[CLIENT_EXPORTS_MOST], const char *client) {
    struct export *free = NULL;

    for (unsigned i = 0; i < CLIENT_EXPORTS_MOST; i++) {
        if (exports[i].client && strcmp(exports[i].client, client) == 0)
            return &exports[i];
        if (!exports[i].client && !free)
            free = &exports[i];
    }
    return free;
}

int client_exports_reconcile(const struct client_exports_settings *settings,
                             const struct client_exports_request *request,
                             unsigned ret_ports[CLIENT_EXPORTS_MOST], struct error *err) {
    const struct nbd_server_settings listener = nbd_server_with_defaults(&settings->listener);
    autoarena struct arena *arena = arena_new();
    struct export exports[CLIENT_EXPORTS_MOST];
    int outcome = 0;

    assert(request->count <= CLIENT_EXPORTS_MOST);
    for (unsigned i = 0; i < CLIENT_EXPORTS_MOST; i++) {
        const char *run = run_of(arena, request->run, i), *text = manifest_read(arena, run);
        const json_t *manifest = text ? json_parse(arena, text, strlen(text), NULL) : NULL;

        exports[i] = (struct export){
            .run = run,
            .client = json_text_of(manifest, "client"),
            .port = (unsigned)json_int_at(manifest, "port"),
            .bytes = json_int_at(manifest, "bytes"),
            .mark = json_text_of(manifest, "mark"),
        };
        ret_ports[i] = 0;
    }
    for (unsigned i = 0; i < CLIENT_EXPORTS_MOST; i++) { /* first, as this frees their ports */
        if (exports[i].client && is_admitted(request, exports[i].client))
            continue;
        if (end(exports[i].run, listener.timeout_ms, err) < 0)
            return -1;
        exports[i].client = NULL;
    }
    for (unsigned i = 0; i < request->count && i < CLIENT_EXPORTS_MOST; i++) {
        struct export *export = export_find(exports, request->clients[i].node);

        if (exports_begin(settings, request, &request->clients[i], export, err) == 0)
            ret_ports[i] = export->port;
        else
            outcome = -1;
        export->client = request->clients[i].node;
    }
    return outcome;
}
