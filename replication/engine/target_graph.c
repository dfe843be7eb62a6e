/*
 * The nodes of the daemon, from the bottom: a file and a raw node of the visible size for each
 * replica, the quorum, a throttle, the export.
 *
 * The quorum never repairs during reads: a repair that overtakes a client's write to the same block
 * would undo it on one replica (replication/engine/target_repair.c repairs beside clients).
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "replication/engine/daemon.h"
#include "replication/engine/relay.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THROTTLE "throttle"
#define QOM_PATH "/objects/" THROTTLE
/* The daemon does not report a quorum's threshold: the export's id has it. */
#define CREDENTIALS "credentials"
#define EXPORT      "needs-"

static int refuse_without_daemon(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "there is no storage daemon");
}

int graph_do(struct target *target, struct arena *arena, const char *command, json_t *arguments,
             json_t **ret, struct error *err) {
    if (!target->qmp) {
        json_decref(arguments);
        return refuse_without_daemon(err);
    }
    return qmp_execute(target->qmp, arena, command, arguments, target->timeout_ms, ret, err);
}

int graph_add_file(struct target *target, const struct file_node *node, struct error *err) {
    return target->qmp ? file_node_add(target->qmp, node, target->timeout_ms, err)
                       : refuse_without_daemon(err);
}

/* reconnect-delay=0: a lost connection stays lost, and missed writes are reported. The relay limits
 * a peer's silence. */
static int add_client(struct target *target, const struct member *member, const char *node,
                      const char *path, int64_t size_bytes, const char *discard,
                      struct error *err) {
    const struct replica_data *data = &member->data;
    bool tls = target->tls_directory != NULL;
    json_t *nbd =
        json_pack("{s:s, s:{s:s, s:s}, s:s, s:i, s:s, s:s*, s:s*}", "driver", "nbd", "server",
                  "type", "unix", "path", path, "export", data->export, "reconnect-delay", 0,
                  "discard", "unmap", "tls-creds", tls ? CREDENTIALS : NULL, "tls-hostname",
                  !tls                ? NULL
                  : data->tls_name[0] ? data->tls_name
                                      : data->host);

    return GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:I, s:s, s:o}", "driver", "raw",
                    "node-name", node, "size", (json_int_t)size_bytes, "discard", discard, "file",
                    nbd);
}

int graph_add_connection(struct target *target, const struct member *member, const char *node,
                         int64_t size_bytes, const char *discard, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = daemon_path(arena, target->run, "peer");
    const struct relay_settings relay = { .path = path,
                                          .host = member->data.host,
                                          .port = member->data.port,
                                          .volume = daemon_path(arena, target->run, "nbd"),
                                          .silence_ms = target->silence_ms };
    bool tls = target->tls_directory != NULL;
    struct error ignored;
    int result;

    assert(member->data.host[0] && size_bytes > 0);
    if (relay_start(&relay, err) < 0)
        return -1;
    /* The present certificates: an open connection keeps those that it has read. */
    if (tls && GRAPH_DO(target, err, "object-add", "{s:s, s:s, s:s, s:s, s:b, s:s}", "qom-type",
                        "tls-creds-x509", "id", CREDENTIALS, "dir", target->tls_directory,
                        "endpoint", "client", "verify-peer", true, "priority", DAEMON_TLS) < 0)
        return -1;
    result = add_client(target, member, node, path, size_bytes, discard, err);
    unlink(path);
    if (tls &&
        GRAPH_DO(target, result < 0 ? &ignored : err, "object-del", "{s:s}", "id", CREDENTIALS) < 0)
        return -1;
    return result;
}

int graph_add_replica(struct target *target, const struct member *member, int64_t size_bytes,
                      struct error *err) {
    const struct file_node node = { member->node, member->data.export, size_bytes, false };

    assert(size_bytes > 0);
    if (member->data.host[0])
        return graph_add_connection(target, member, member->node, size_bytes, "unmap", err);
    return graph_add_file(target, &node, err);
}

int graph_add_quorum(struct target *target, unsigned threshold, struct error *err) {
    assert(threshold > 0);
    /* A single replica has no vote, and is read more quickly without. */
    const char *pattern = threshold == 1 ? "fifo" : "quorum";
    json_t *children = json_array();

    for (unsigned i = 0; i < target->count; i++) {
        if (member_votes(&target->members[i]))
            json_array_append_new(children, json_string(target->members[i].node));
    }
    assert(json_array_size(children) >= threshold);
    target->threshold = threshold;
    return GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:i, s:s, s:b, s:s, s:o}", "driver",
                    "quorum", "node-name", QUORUM, "vote-threshold", (int)threshold, "read-pattern",
                    pattern, "rewrite-corrupted", false, "discard", "unmap", "children", children);
}

int graph_set_qos(struct target *target, struct error *err) {
    /* An omitted limit keeps its value: all are named. */
    json_t *limits =
        json_pack("{s:I, s:i, s:i, s:I, s:i, s:i}", "iops-total", (json_int_t)target->qos.iops,
                  "iops-read", 0, "iops-write", 0, "bps-total",
                  (json_int_t)target->qos.bytes_per_second, "bps-read", 0, "bps-write", 0);

    return GRAPH_DO(target, err, "qom-set", "{s:s, s:s, s:o}", "path", QOM_PATH, "property",
                    "limits", "value", limits);
}

static const char *export_id(const struct target *target, char text[NODE_SIZE]) {
    assert(target->threshold > 0);
    snprintf(text, NODE_SIZE, EXPORT "%u", target->threshold);
    return text;
}

int graph_add_export(struct target *target, struct error *err) {
    char id[NODE_SIZE];

    /* Limits that are not named are none here: the daemon reads commands byte by byte, slowly. */
    if (GRAPH_DO(target, err, "object-add", "{s:s, s:s, s:{s:I, s:I}}", "qom-type",
                 "throttle-group", "id", THROTTLE, "limits", "iops-total",
                 (json_int_t)target->qos.iops, "bps-total",
                 (json_int_t)target->qos.bytes_per_second) < 0 ||
        GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:s, s:s, s:s}", "driver", "throttle",
                 "node-name", TOP, "throttle-group", THROTTLE, "file", QUORUM, "discard",
                 "unmap") < 0)
        return -1;
    if (target->sealed)
        return 0;
    return GRAPH_DO(target, err, "block-export-add", "{s:s, s:s, s:s, s:s, s:b}", "type", "nbd",
                    "id", export_id(target, id), "node-name", TOP, "name", TARGET_EXPORT,
                    "writable", true);
}

int graph_end_export(struct target *target, struct error *err) {
    char id[NODE_SIZE];

    return GRAPH_DO(target, err, "block-export-del", "{s:s, s:s}", "id", export_id(target, id),
                    "mode", "hard");
}

/* A child that fails all requests: it keeps the position of the rebuilt replica, and neither votes
 * nor counts among those that have taken a write. */
int graph_add_failing_child(struct target *target, struct error *err) {
    json_t *image = json_pack("{s:s, s:I, s:b}", "driver", "null-co", "size",
                              (json_int_t)target->size_bytes, "read-zeroes", true);
    json_t *rules = json_pack("[{s:s, s:i}]", "event", "none", "errno", 5 /* EIO */);

    assert(target->size_bytes > 0);
    if (GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:o, s:o}", "driver", "blkdebug",
                 "node-name", PLACEHOLDER, "image", image, "inject-error", rules) < 0)
        return -1;
    return GRAPH_DO(target, err, "x-blockdev-change", "{s:s, s:s}", "parent", QUORUM, "node",
                    PLACEHOLDER);
}

/* ---- queries ---- */

static const char *node_name(const json_t *nodes, json_int_t id) {
    size_t i;
    const json_t *node;

    json_array_foreach(nodes, i, node) {
        if (json_integer_value(json_object_get(node, "id")) == id)
            return json_text_of(node, "name");
    }
    return NULL;
}

/* The i-th edge below the quorum: its name there and its node. */
struct child {
    const char *name, *node;
};

static int read_children(struct target *target, struct arena *arena, struct child *ret,
                         unsigned most, struct error *err) {
    const json_t *nodes, *edge;
    json_t *graph = NULL;
    unsigned count = 0;
    size_t i;

    if (graph_do(target, arena, "x-debug-query-block-graph", NULL, &graph, err) < 0)
        return -1;
    nodes = json_object_get(graph, "nodes");
    json_array_foreach(json_object_get(graph, "edges"), i, edge) {
        const char *parent = node_name(nodes, json_integer_value(json_object_get(edge, "parent")));

        if (!parent || strcmp(parent, QUORUM) != 0 || count == most)
            continue;
        ret[count].node = node_name(nodes, json_integer_value(json_object_get(edge, "child")));
        ret[count].name = json_text_of(edge, "name");
        if (!ret[count].node || !ret[count].name)
            return error_set(err, ERROR_BACKEND,
                             "the storage daemon has reported an invalid graph");
        count++;
    }
    return (int)count;
}

int graph_children(struct target *target, struct arena *arena, const char **ret, unsigned most,
                   struct error *err) {
    struct child children[2 * MEMBERS_MOST];
    int count = read_children(target, arena, children, LENGTH(children), err);

    assert(most <= LENGTH(children));
    for (int i = 0; i < count && i < (int)most; i++)
        ret[i] = children[i].node;
    return count > (int)most ? (int)most : count;
}

static int query_nodes(struct target *target, struct arena *arena, json_t **ret,
                       struct error *err) {
    return graph_do(target, arena, "query-named-block-nodes", json_pack("{s:b}", "flat", true), ret,
                    err);
}

int graph_remove_node(struct target *target, const char *node, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *nodes = NULL;
    const json_t *one;
    size_t i;

    if (query_nodes(target, arena, &nodes, err) < 0)
        return -1;
    json_array_foreach(nodes, i, one) {
        if (json_text_is(one, "node-name", node))
            return GRAPH_DO(target, err, "blockdev-del", "{s:s}", "node-name", node);
    }
    return 0;
}

int graph_remove_copies(struct target *target, const struct member *member, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *nodes = NULL;
    const json_t *one;
    size_t i;

    if (query_nodes(target, arena, &nodes, err) < 0)
        return -1;
    json_array_foreach(nodes, i, one) {
        const char *name = json_text_of(one, "node-name");

        if (name && member_has_copy(member, name) &&
            GRAPH_DO(target, err, "blockdev-del", "{s:s}", "node-name", name) < 0)
            return -1;
    }
    return 0;
}

int graph_detach_child(struct target *target, const char *node, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct child children[2 * MEMBERS_MOST];
    int count = read_children(target, arena, children, LENGTH(children), err);

    for (int i = 0; i < count; i++) {
        if (strcmp(children[i].node, node) == 0 &&
            GRAPH_DO(target, err, "x-blockdev-change", "{s:s, s:s}", "parent", QUORUM, "child",
                     children[i].name) < 0)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

int graph_remove_child(struct target *target, const char *node, struct error *err) {
    return graph_detach_child(target, node, err) < 0 ? -1 : graph_remove_node(target, node, err);
}

/* 1 and its id, 0 none, -1. */
static int find_export(struct target *target, struct arena *arena, const char **ret,
                       struct error *err) {
    json_t *exports = NULL;

    if (graph_do(target, arena, "query-block-exports", NULL, &exports, err) < 0)
        return -1;
    *ret = json_text_of(json_array_get(exports, 0), "id");
    return json_array_size(exports) > 0;
}

int graph_export(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *id;

    return find_export(target, arena, &id, err);
}

int graph_adopt_export(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *id;
    int found = find_export(target, arena, &id, err);

    if (found <= 0 || !id || strncmp(id, EXPORT, strlen(EXPORT)) != 0)
        return found;
    target->threshold = (unsigned)strtoul(id + strlen(EXPORT), NULL, 10);
    return 1;
}

int graph_job(struct target *target, struct graph_job *ret, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *jobs = NULL;
    const json_t *job;
    const char *status, *reason;

    if (graph_do(target, arena, "query-jobs", NULL, &jobs, err) < 0)
        return -1;
    job = json_array_get(jobs, 0);
    if (!job)
        return 0;
    status = json_text_of(job, "status");
    reason = json_text_of(job, "error");
    *ret =
        (struct graph_job){ .done = json_integer_value(json_object_get(job, "current-progress")),
                            .total = json_integer_value(json_object_get(job, "total-progress")) };
    snprintf(ret->status, sizeof(ret->status), "%s", status ? status : "");
    snprintf(ret->error, sizeof(ret->error), "%s", reason ? reason : "");
    return 1;
}

int graph_copy(struct target *target, struct graph_job *ret, struct error *gone,
               struct error *err) {
    int found = graph_job(target, ret, err);

    if (found < 0)
        return -1;
    target->done_bytes = ret->done;
    target->total_bytes = ret->total;
    if (found == 0)
        error_set(gone, ERROR_BACKEND, "the job of the copy is missing");
    return found;
}
