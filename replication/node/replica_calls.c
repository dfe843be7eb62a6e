#include "replication/node/replica_calls.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/hex.h"
#include "replication/engine/replica_access.h"
#include "replication/engine/replica_epoch.h"

#include <stdio.h>
#include <string.h>

#define STATE_MOST 8192
#define EPOCH_MOST ((int64_t)1 << 53)

/* ---- health ---- */

static const char *const healths[] = {
    [REPLICA_GOOD] = "good",           [REPLICA_GONE] = "gone",       [REPLICA_DAMAGED] = "damaged",
    [REPLICA_READ_ONLY] = "read_only", [REPLICA_FAILING] = "failing",
};

enum replica_health replica_health_of(const char *text) {
    for (size_t i = 0; text && i < LENGTH(healths); i++) {
        if (strcmp(text, healths[i]) == 0)
            return (enum replica_health)i;
    }
    return REPLICA_FAILING;
}

/* ---- calls ---- */

static int run_open(struct replica_call_request *request, struct error *err) {
    const struct session_request session_request = { request->pool, request->volume,
                                                     request->client, request->body.epoch };
    struct replica_session session;

    if (request->deleting)
        return error_set(err, ERROR_NOT_FOUND, "The replica %s is being deleted.",
                         request->replica.uid);
    if (sessions_begin(request->sessions, &request->replica, &session_request, &session, err) < 0)
        return -1;
    out_put_int(request->out, "port", session.port);
    out_put_text(request->out, "export", session.name);
    return 0;
}

static bool is_served(struct replica_call_request *request) {
    struct replica_session session;

    return sessions_find(request->sessions, request->arena, request->replica.uid, &session) &&
           session.epoch == request->body.epoch;
}

/* A log without a generation is useless once its daemon has ended. */
static int run_close(struct replica_call_request *request, struct error *err) {
    const char *logs = sessions_write_logs(request->sessions, request->arena);
    struct write_log log;

    if (sessions_end(request->sessions, request->replica.uid, request->body.epoch, err) < 0)
        return -1;
    write_log_read(request->arena, logs, request->replica.uid, &log);
    if (log.generation.number == 0 && !is_served(request))
        write_log_remove(logs, request->replica.uid);
    return 0;
}

static int run_look(struct replica_call_request *request, struct error *err) {
    struct replica_probe probe;

    (void)err;
    replica_probe(&request->replica, request->volume, &probe);
    assert(probe.health < LENGTH(healths));
    out_put_text(request->out, "health", healths[probe.health]);
    if (probe.health != REPLICA_GOOD) {
        out_put_int(request->out, "why", error_http_status(probe.why.kind));
        out_put_text(request->out, "message", probe.why.message);
    }
    out_put_bool(request->out, "held", probe.held && is_served(request));
    out_put_int(request->out, "bytes", probe.bytes);
    out_put_int(request->out, "used_bytes", probe.used_bytes);
    out_put_int(request->out, "free_bytes", probe.free_bytes);
    out_put_int(request->out, "epoch", probe.epoch);
    if (probe.has_state)
        out_put_text(request->out, "state", replica_state_text(request->arena, &probe.state));
    return 0;
}

static int run_write_state(struct replica_call_request *request, struct error *err) {
    const char *text = request->body.state;
    struct replica_state state;

    if (replica_state_parse(request->arena, text, strlen(text), &state, err) < 0 ||
        strcmp(state.replica, request->replica.uid) != 0 ||
        strcmp(state.volume, request->volume) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid state of the replica %s.",
                         request->replica.uid);
    return replica_write_state_in(&request->replica, request->body.epoch, &state, err);
}

/* First, as no session may serve discarded data. */
static int run_reset(struct replica_call_request *request, struct error *err) {
    const struct replica_call_body *body = &request->body;

    if (sessions_end(request->sessions, request->replica.uid, body->epoch, err) < 0)
        return -1;
    return replica_reset_in(&request->replica, request->volume, body->maximum_bytes, body->epoch,
                            err);
}

static int run_flush(struct replica_call_request *request, struct error *err) {
    return replica_flush(&request->replica, err);
}

static int run_sums(struct replica_call_request *request, struct error *err) {
    unsigned char sums[REPLICA_SUMS_MOST][REPLICA_SUM_SIZE];
    const struct replica_call_body *body = &request->body;
    struct replica_request summed = { .kind = ACCESS_SUMS,
                                      .replica = &request->replica,
                                      .epoch = body->epoch,
                                      .at = body->at,
                                      .end = body->end,
                                      .count = (unsigned)body->count,
                                      .sums = sums };
    int count = replica_request(&replica_local, &summed, err);

    if (count < 0)
        return -1;
    assert(count <= body->count && count <= REPLICA_SUMS_MOST);
    out_put_int(request->out, "at", summed.at);
    out_key(request->out, "sums");
    out_begin_array(request->out);
    for (int i = 0; i < count; i++) {
        char text[2 * REPLICA_SUM_SIZE + 1];

        hex_encode(sums[i], REPLICA_SUM_SIZE, text);
        out_text(request->out, text);
    }
    out_end_array(request->out);
    return 0;
}

/* ---- write logs ---- */

static int check_epoch(const struct replica_call_request *request, struct error *err) {
    int64_t highest = replica_epoch(&request->replica, err);

    if (highest < 0)
        return -1;
    return highest <= request->body.epoch
               ? 0
               : error_set(err, ERROR_CONFLICT, "The replica %s was opened in a higher epoch.",
                           request->replica.uid);
}

static struct generation_id generation_of(int64_t number, const char *nonce) {
    struct generation_id id = { .number = number };

    snprintf(id.nonce, sizeof(id.nonce), "%s", nonce);
    return id;
}

static int run_begin_log(struct replica_call_request *request, struct error *err) {
    const struct replica_call_body *body = &request->body;
    const struct generation_id before = generation_of(body->before_generation, body->before_nonce);
    const struct generation_id next = generation_of(body->generation, body->nonce);

    if (check_epoch(request, err) < 0)
        return -1;
    return write_log_begin(sessions_write_logs(request->sessions, request->arena),
                           request->replica.uid, &before, &next, err);
}

static int run_read_log(struct replica_call_request *request, struct error *err) {
    struct write_log log;

    if (check_epoch(request, err) < 0)
        return -1;
    write_log_read(request->arena, sessions_write_logs(request->sessions, request->arena),
                   request->replica.uid, &log);
    out_put_int(request->out, "generation", log.generation.number);
    out_put_text(request->out, "nonce", log.generation.nonce);
    out_put_text(request->out, "entries", write_log_text(request->arena, &log));
    return 0;
}

/* ---- the table ---- */

/* clang-format off */
#define BODY struct replica_call_body
#define EPOCH        FIELD_INT(BODY, epoch, "epoch", FIELD_REQUIRED, 1, EPOCH_MOST)
#define VOLUME       FIELD_UUID(BODY, volume, "volume", FIELD_REQUIRED)
#define BYTES(member, key) FIELD_INT(BODY, member, key, FIELD_REQUIRED, 0, VOLUME_BYTES_MOST)

#define NUMBER(member, key) FIELD_INT(BODY, member, key, FIELD_REQUIRED, 0, VOLUME_BYTES_MOST)
#define NONCE(member, key)  FIELD_TEXT(BODY, member, key, FIELD_REQUIRED, 0, NONCE_SIZE - 1)

static const struct field epoch_fields[] = { EPOCH, FIELDS_END };
static const struct field volume_fields[] = { EPOCH, VOLUME, FIELDS_END };
static const struct field state_fields[] = {
    EPOCH, FIELD_TEXT(BODY, state, "state", FIELD_REQUIRED, 1, STATE_MOST), FIELDS_END
};
static const struct field reset_fields[] = {
    EPOCH, VOLUME, BYTES(maximum_bytes, "maximum_bytes"), FIELDS_END
};
static const struct field sums_fields[] = {
    EPOCH, BYTES(at, "at"), BYTES(end, "end"),
    FIELD_INT(BODY, count, "count", FIELD_REQUIRED, 1, REPLICA_SUMS_MOST), FIELDS_END
};

static const struct field log_fields[] = {
    EPOCH, NUMBER(before_generation, "before_generation"),
    NONCE(before_nonce, "before_nonce"), NUMBER(generation, "generation"), NONCE(nonce, "nonce"),
    FIELDS_END
};

static const struct replica_call calls[] = {
    { "open",        volume_fields, run_open },
    { "close",       epoch_fields,  run_close },
    { "look",        volume_fields, run_look },
    { "write_state", state_fields,  run_write_state },
    { "reset",       reset_fields,  run_reset },
    { "flush",       epoch_fields,  run_flush },
    { "sums",        sums_fields,   run_sums },
    { "begin_log",   log_fields,    run_begin_log },
    { "read_log",    epoch_fields,  run_read_log },
};
/* clang-format on */

const struct replica_call *replica_call_find(const char *name) {
    for (size_t i = 0; i < LENGTH(calls); i++) {
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    }
    return NULL;
}
