#include "replication/node/gates.h"

#include "common/arena.h"
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

struct gate {
    const char *run;    /* its own */
    const char *client; /* NULL: there is none */
    unsigned port;
    int64_t bytes;
    const char *mark; /* of the volume's daemon */
};

static const char *run_of(struct arena *arena, const char *run, unsigned slot) {
    return arena_format(arena, "%s/c%u", run, slot);
}

/* ---- what stands beside the daemon ---- */

static void write_manifest(const struct gate *gate) {
    autoarena struct arena *arena = arena_new();
    json_t *manifest =
        json_pack("{s:s, s:i, s:I, s:s}", "client", gate->client, "port", (int)gate->port, "bytes",
                  (json_int_t)gate->bytes, "mark", gate->mark);

    manifest_write(gate->run, json_text(arena, json_keep(arena, manifest)));
}

static void read_manifest(struct arena *arena, const char *run, unsigned slot, struct gate *ret) {
    const char *own = run_of(arena, run, slot), *text = manifest_read(arena, own);
    const json_t *manifest = text ? json_parse(arena, text, strlen(text), NULL) : NULL;

    *ret = (struct gate){
        .run = own,
        .client = json_text_of(manifest, "client"),
        .port = (unsigned)json_int_at(manifest, "port"),
        .bytes = json_int_at(manifest, "bytes"),
        .mark = json_text_of(manifest, "mark"),
    };
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

int gates_shut(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int outcome = 0;

    for (unsigned i = 0; i < GATES_MOST; i++) {
        const char *own = run_of(arena, run, i);

        if (access(own, F_OK) == 0 && daemon_kill(own, timeout_ms, err) < 0)
            outcome = -1;
    }
    return outcome;
}

int gates_end(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int outcome = 0;

    for (unsigned i = 0; i < GATES_MOST; i++) {
        if (end(run_of(arena, run, i), timeout_ms, err) < 0)
            outcome = -1;
    }
    return outcome;
}

/* ---- begin ---- */

/* Of a daemon of the volume: another one has another socket. */
static int read_mark(const char *path, char ret[MARK_SIZE], struct error *err) {
    struct stat status;

    if (stat(path, &status) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "looking at %s", path);
    snprintf(ret, MARK_SIZE, "%ju.%jd.%ld", (uintmax_t)status.st_ino,
             (intmax_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    return 0;
}

/* reconnect-delay=0: what is under way when the volume's daemon ends is never sent to the next. */
static int export_volume(const struct nbd_server_settings *settings, struct qmp *qmp,
                         const struct gates_request *request, const char *path, struct error *err) {
    json_t *server = json_pack("{s:s, s:s}", "type", "unix", "path", path);

    if (nbd_server_order(settings, qmp, "blockdev-add",
                         json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "driver", "nbd", "node-name",
                                   SOURCE, "export", TARGET_EXPORT, "reconnect-delay", 0, "discard",
                                   "unmap", "server", server),
                         err) < 0)
        return -1;
    return nbd_server_order(settings, qmp, "block-export-add",
                            json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id", SOURCE,
                                      "node-name", SOURCE, "name", request->volume, "writable",
                                      true),
                            err);
}

static int launch(const struct gates_settings *settings, const struct gates_request *request,
                  struct gate *gate, const char *path, struct error *err) {
    const struct nbd_server_settings listener = nbd_server_settled(&settings->listener);
    const struct nbd_server_request to = { .client = gate->client, .port = gate->port };
    struct qmp *qmp = NULL;
    struct error ignored;
    int outcome;

    if (strlen(gate->run) > RUN_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "The path of a socket would be too long: %s.",
                         gate->run);
    if (mkdir(gate->run, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", gate->run);
    if (daemon_kill(gate->run, listener.timeout_ms, err) < 0)
        return -1;
    outcome = nbd_server_start(&listener, gate->run, &to, &gate->port, &qmp, err);
    if (outcome == 0)
        outcome = export_volume(&listener, qmp, request, path, err);
    qmp_close(qmp);
    if (outcome < 0)
        daemon_kill(gate->run, listener.timeout_ms, &ignored);
    return outcome;
}

static int begin(const struct gates_settings *settings, const struct gates_request *request,
                 const struct gate_client *client, struct gate *gate, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = daemon_path(arena, request->run, "nbd");
    bool was = gate->client != NULL;
    char mark[MARK_SIZE];

    if (nbd_server_check_client(client->node, err) < 0 || read_mark(path, mark, err) < 0)
        return -1;
    if (was && gate->bytes == request->bytes && gate->mark && strcmp(gate->mark, mark) == 0 &&
        daemon_runs(gate->run))
        return 0;
    gate->client = client->node;
    gate->port = was ? gate->port : client->port;
    gate->bytes = request->bytes;
    gate->mark = mark;
    if (launch(settings, request, gate, path, err) < 0)
        return error_context(err, "letting host %s in", client->node);
    write_manifest(gate);
    log_info(NULL, "volume is served to another host", "volume_id", request->volume, "host",
             client->node, "port", LOG_INT(gate->port), NULL);
    return 0;
}

/* ---- together ---- */

static bool is_wanted(const struct gates_request *request, const char *client) {
    for (unsigned i = 0; i < request->count; i++) {
        if (strcmp(request->clients[i].node, client) == 0)
            return true;
    }
    return false;
}

/* Its own, or one that nobody has. */
static struct gate *find(struct gate gates[GATES_MOST], const char *client) {
    struct gate *free = NULL;

    for (unsigned i = 0; i < GATES_MOST; i++) {
        if (gates[i].client && strcmp(gates[i].client, client) == 0)
            return &gates[i];
        if (!gates[i].client && !free)
            free = &gates[i];
    }
    return free;
}

/* First those that nobody wants: their ports are free then. */
static int end_others(const struct gates_request *request, struct gate gates[GATES_MOST],
                      int64_t timeout_ms, struct error *err) {
    for (unsigned i = 0; i < GATES_MOST; i++) {
        if (gates[i].client && is_wanted(request, gates[i].client))
            continue;
        if (end(gates[i].run, timeout_ms, err) < 0)
            return -1;
        gates[i].client = NULL;
    }
    return 0;
}

int gates_keep(const struct gates_settings *settings, const struct gates_request *request,
               unsigned ret_ports[GATES_MOST], struct error *err) {
    const struct nbd_server_settings listener = nbd_server_settled(&settings->listener);
    autoarena struct arena *arena = arena_new();
    struct gate gates[GATES_MOST];
    int outcome = 0;

    for (unsigned i = 0; i < GATES_MOST; i++) {
        read_manifest(arena, request->run, i, &gates[i]);
        ret_ports[i] = 0;
    }
    if (end_others(request, gates, listener.timeout_ms, err) < 0)
        return -1;
    for (unsigned i = 0; i < request->count && i < GATES_MOST; i++) {
        struct gate *gate = find(gates, request->clients[i].node);

        if (begin(settings, request, &request->clients[i], gate, err) == 0)
            ret_ports[i] = gate->port;
        else
            outcome = -1;
        gate->client = request->clients[i].node;
    }
    return outcome;
}
