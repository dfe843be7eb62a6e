#include "replication/node/sessions.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "replication/engine/daemon.h"
#include "replication/engine/file_node.h"
#include "replication/engine/replica_epoch.h"
#include "replication/engine/write_log.h"
#include "replication/node/manifest.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "s" /* with the digits of the uid: differs from the uid of a volume */

struct sessions {
    struct sessions_settings settings;
};

/* ---- manifests ---- */

static const char *run_of(struct arena *arena, const struct sessions *sessions, const char *uid) {
    const char *directory = sessions->settings.run_directory;
    char *run = arena_alloc(arena, strlen(directory) + UUID_SIZE + 2), *end = run;

    assert(strlen(uid) < UUID_SIZE);
    end += sprintf(run, "%s/" PREFIX, directory);
    for (; *uid; uid++) {
        if (*uid != '-')
            *end++ = *uid;
    }
    return run;
}

static bool read_manifest(struct arena *arena, const char *run, struct replica_session *ret) {
    const char *text = manifest_read(arena, run), *name, *volume;
    const json_t *manifest = text ? json_parse(arena, text, strlen(text), NULL) : NULL;

    name = json_text_of(manifest, "name");
    volume = json_text_of(manifest, "volume");
    *ret = (struct replica_session){
        .epoch = json_int_at(manifest, "epoch"),
        .port = (unsigned)json_int_at(manifest, "port"),
        .pool = json_text_of(manifest, "pool"),
        .path = json_text_of(manifest, "path"),
    };
    if (!name || !volume || !ret->pool || !ret->path || !uuid_parse(volume, ret->volume))
        return false;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    return true;
}

bool sessions_find(struct sessions *sessions, struct arena *arena, const char *uid,
                   struct replica_session *ret) {
    const char *run = run_of(arena, sessions, uid);

    return read_manifest(arena, run, ret) && daemon_runs(run);
}

const char *sessions_write_logs(const struct sessions *sessions, struct arena *arena) {
    return write_log_directory(arena, run_of(arena, sessions, ""));
}

void sessions_trim_log(struct sessions *sessions, const char *uid) {
    autoarena struct arena *arena = arena_new();

    daemon_trim_log(run_of(arena, sessions, uid));
}

/* ---- the daemon ---- */

/* The daemon does not check the purpose of a certificate: the caller's was checked when it opened
 * the session. */
static int serve(const struct sessions *sessions, const char *run, const struct replica *replica,
                 const char *client, struct replica_session *session, struct error *err) {
    const struct nbd_server_settings *settings = &sessions->settings.listener;
    const struct nbd_server_request request = {
        .subject = settings->tls_directory && client && *client ? client : NULL,
    };
    autoarena struct arena *arena = arena_new();
    const struct file_node node = { "replica", replica_data_path(arena, replica), 0, false };
    struct qmp *qmp;
    int outcome;

    if (nbd_server_start(settings, run, &request, &session->port, &qmp, err) < 0)
        return -1;
    outcome = file_node_add(qmp, &node, settings->timeout_ms, err);
    if (outcome == 0)
        outcome = nbd_server_execute(settings, qmp, "block-export-add",
                                     json_pack("{s:s, s:s, s:s, s:s, s:b}", "type", "nbd", "id",
                                               "replica", "node-name", "replica", "name",
                                               session->name, "writable", true),
                                     err);
    qmp_close(qmp);
    return outcome;
}

/* ---- end ---- */

/* The caller holds RUN/lock. */
static int end(const struct sessions *sessions, const char *run, struct error *err) {
    if (daemon_kill(run, sessions->settings.listener.timeout_ms, err) < 0)
        return -1;
    manifest_remove(run);
    return 0;
}

/* Unless `stays`. */
static int end_unless(const struct sessions *sessions, const char *uid,
                      bool (*stays)(const struct replica_session *session, const void *arg),
                      const void *arg, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *run = run_of(arena, sessions, uid);
    autoclose int lock = -1;
    struct replica_session session;

    if (access(run, F_OK) != 0)
        return 0;
    if (daemon_lock(run, &lock, err) < 0)
        return -1;
    if (daemon_runs(run) && read_manifest(arena, run, &session) && stays(&session, arg))
        return 0;
    if (end(sessions, run, err) < 0)
        return -1;
    daemon_clear(run);
    return 0;
}

static bool is_later(const struct replica_session *session, const void *arg) {
    const int64_t *epoch = arg;

    return session->epoch > *epoch;
}

int sessions_end(struct sessions *sessions, const char *uid, int64_t epoch, struct error *err) {
    return end_unless(sessions, uid, is_later, &epoch, err);
}

static bool is_another(const struct replica_session *session, const void *arg) {
    const struct replica_session *one = arg;

    return strcmp(session->name, one->name) != 0;
}

int sessions_end_one(struct sessions *sessions, const char *uid,
                     const struct replica_session *session, struct error *err) {
    return end_unless(sessions, uid, is_another, session, err);
}

/* ---- begin ---- */

/* The file is neither locked nor open, and has no later epoch. */
static int check_free(const struct replica *replica, const char *volume, int64_t epoch,
                      struct error *err) {
    int64_t highest = replica_epoch(replica, err);
    struct replica_probe probe;

    if (highest < 0)
        return -1;
    if (highest > epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened in a later epoch.",
                         replica->uid);
    replica_probe_settled(replica, volume, &probe);
    if (probe.held)
        return error_set(err, ERROR_CONFLICT, "The replica %s is in use at its node.",
                         replica->uid);
    if (probe.health == REPLICA_GOOD || probe.health == REPLICA_READ_ONLY)
        return 0;
    return error_pass(err, &probe.why);
}

static int replica_session_begin(struct sessions *sessions, const char *run,
                                 const struct replica *replica, const char *client,
                                 struct replica_session *session, struct error *err) {
    autoarena struct arena *arena = arena_new();
    autoclose int lock = -1;
    char nonce[UUID_SIZE];
    struct error ignored;

    assert(*session->volume && !*session->name);
    if (replica_lock(replica, &lock, err) < 0 ||
        check_free(replica, session->volume, session->epoch, err) < 0)
        return -1;
    clock_uuid(&clock_system, nonce);
    snprintf(session->name, sizeof(session->name), "%s.%jd.%s", replica->uid,
             (intmax_t)session->epoch, nonce);
    if (serve(sessions, run, replica, client, session, err) == 0) {
        assert(session->port > 0 && session->port <= UINT16_MAX);
        manifest_write(
            run,
            json_text(arena, json_keep(arena, json_pack("{s:I, s:i, s:s, s:s, s:s, s:s}", "epoch",
                                                        (json_int_t)session->epoch, "port",
                                                        (int)session->port, "name", session->name,
                                                        "volume", session->volume, "pool",
                                                        session->pool, "path", session->path))));
        return 0;
    }
    end(sessions, run, &ignored);
    return -1;
}

int sessions_begin(struct sessions *sessions, const struct replica *replica,
                   const struct session_request *request, struct replica_session *ret,
                   struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *run = run_of(arena, sessions, replica->uid);
    autoclose int lock = -1;
    static struct log_limit served = LOG_LIMIT;
    const char *client = request->client ? request->client : "-";
    unsigned others;
    struct replica_session session = { .epoch = request->epoch,
                                       .pool = request->pool,
                                       .path = replica->pool };

    snprintf(session.volume, UUID_SIZE, "%s", request->volume);
    if (replica_epoch_take(replica, request->epoch, err) < 0 || daemon_lock(run, &lock, err) < 0 ||
        end(sessions, run, err) < 0)
        return -1;
    if (replica_session_begin(sessions, run, replica, request->client, &session, err) < 0) {
        daemon_clear(run);
        return -1;
    }
    if (log_limit_allows(&served, arena_join(arena, replica->uid, " ", client, NULL),
                         clock_monotonic_us(), &others))
        log_info(NULL, "replica exported to another node", "replica_id", replica->uid, "volume_id",
                 request->volume, "epoch", LOG_INT(request->epoch), "client", client, "others",
                 LOG_INT(others), NULL);
    *ret = session;
    return 0;
}

/* ---- all ---- */

const char **sessions_all(struct sessions *sessions, struct arena *arena) {
    return manifest_uids(arena, sessions->settings.run_directory, PREFIX);
}

struct sessions *sessions_new(const struct sessions_settings *settings) {
    struct sessions *sessions = heap_new(sizeof(*sessions));
    autoarena struct arena *arena = arena_new();

    sessions->settings = *settings;
    sessions->settings.listener = nbd_server_with_defaults(&settings->listener);
    for (const char **uid = sessions_all(sessions, arena); *uid; uid++) {
        const char *run = run_of(arena, sessions, *uid);

        if (daemon_runs(run))
            continue;
        manifest_remove(run);
        daemon_clear(run);
    }
    return sessions;
}

void sessions_free(struct sessions *sessions) {
    free(sessions);
}
