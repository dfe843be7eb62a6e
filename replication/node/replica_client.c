#include "replication/node/replica_client.h"

#include "client/answer.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/hex.h"
#include "replication/node/replica_calls.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 3000
#define DEFAULT_MS 5000
#define LONG       4 /* times that: a daemon is replaced, or a file is emptied */

struct replica_client {
    struct replica_client_settings settings;
    struct http_peer peer;
    struct replica_access access;
};

/* ---- a call ---- */

struct remote_call {
    const struct replica *replica;
    const char *name;
    json_t *body;   /* taken */
    unsigned times; /* of the timeout of a short call */
};

/* The object of the response; NULL: err says why. */
static const json_t *call_service(const struct replica_client *client, struct arena *arena,
                                  const struct remote_call *call, struct error *err) {
    const struct http_call sent = {
        .method = "POST",
        .url = arena_join(arena, client->settings.plain ? "http://" : "https://",
                          call->replica->address, "/v1/replicas/", call->replica->uid, "/",
                          call->name, NULL),
        .body = json_text(arena, json_keep(arena, call->body)),
        .timeout_ms = client->settings.timeout_ms * call->times,
        .peer = &client->peer,
        .until_us = client->settings.until_us,
    };
    struct http_answer answer;
    const char *message;
    const json_t *body;

    if (http_call(arena, &sent, &answer, err) != 0) {
        error_set(err, ERROR_UNAVAILABLE, "%s", arena_text(arena, err->message));
        return NULL;
    }
    body = json_parse(arena, answer.body, answer.body_size, NULL);
    if (answer.status == 200 && json_is_object(body))
        return body;
    message = json_text_of(body, "message");
    if (message && answer.status >= 400)
        error_set(err, answer_kind_of(answer.status), "%s: %s", call->replica->address, message);
    else
        error_set(err, ERROR_UNAVAILABLE, "%s: unexpected response (HTTP %d)",
                  call->replica->address, answer.status);
    return NULL;
}

/* ---- sessions ---- */

/* "host:port" without the port, and without the brackets of an IPv6 address. */
static void copy_host(const char *address, char *ret, size_t size) {
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : strlen(address);

    if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
        address++;
        length -= 2;
    }
    snprintf(ret, size, "%.*s", (int)length, address);
}

static int open_session(const struct replica_client *client, struct replica_request *request,
                        struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct remote_call call = { request->replica, "open",
                                      json_pack("{s:I, s:s}", "epoch", (json_int_t)request->epoch,
                                                "volume", request->volume),
                                      LONG };
    const json_t *answer = call_service(client, arena, &call, err);
    const char *name = json_text_of(answer, "export"), *address = request->replica->address;
    int64_t port = json_int_at(answer, "port");
    struct replica_data *ret = request->data;

    if (!answer)
        return -1;
    *ret = (struct replica_data){ 0 };
    if (!name || strlen(name) >= sizeof(ret->export) || port <= 0 || port > UINT16_MAX)
        return error_set(err, ERROR_UNAVAILABLE, "%s: invalid response", address);
    copy_host(address, ret->host, sizeof(ret->host));
    snprintf(ret->port, sizeof(ret->port), "%u", (unsigned)port);
    strcpy(ret->export, name);
    return 0;
}

/* ---- files ---- */

static void read_look(struct arena *arena, const json_t *answer, const char *uid,
                      struct replica_probe *ret) {
    const char *state = json_text_of(answer, "state"), *message = json_text_of(answer, "message");

    *ret = (struct replica_probe){
        .health = replica_health_of(json_text_of(answer, "health")),
        .held = json_is_true(json_object_get(answer, "held")),
        .bytes = json_int_at(answer, "bytes"),
        .used_bytes = json_int_at(answer, "used_bytes"),
        .free_bytes = json_int_at(answer, "free_bytes"),
        .epoch = json_int_at(answer, "epoch"),
    };
    if (ret->health != REPLICA_GOOD)
        error_set(&ret->why, answer_kind_of((int)json_int_at(answer, "why")), "%s",
                  message ? message : "");
    ret->has_state =
        state && replica_state_parse(arena, state, strlen(state), &ret->state, &ret->why) == 0 &&
        strcmp(ret->state.replica, uid) == 0;
    if (state && !ret->has_state)
        ret->health = REPLICA_FAILING;
}

static int probe(const struct replica_client *client, struct replica_request *request) {
    autoarena struct arena *arena = arena_new();
    const struct remote_call call = {
        request->replica, "look",
        json_pack("{s:I, s:s}", "epoch", (json_int_t)request->epoch, "volume", request->volume), 1
    };
    struct error err = { 0 };
    const json_t *answer = call_service(client, arena, &call, &err);

    if (answer)
        read_look(arena, answer, request->replica->uid, request->probe);
    else
        *request->probe =
            (struct replica_probe){ .health = REPLICA_FAILING, .why = err, .epoch = -1 };
    return 0;
}

/* One without results. */
static int change(const struct replica_client *client, const struct replica_request *request,
                  const char *name, unsigned times, json_t *body, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct remote_call call = { request->replica, name, body, times };

    json_object_set_new(body, "epoch", json_integer(request->epoch));
    return call_service(client, arena, &call, err) ? 0 : -1;
}

static json_t *state_body(const struct replica_request *request) {
    autoarena struct arena *arena = arena_new();

    return json_pack("{s:s}", "state", replica_state_text(arena, request->state));
}

/* ---- sums ---- */

static int sums(const struct replica_client *client, struct replica_request *request,
                struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *address = request->replica->address;
    const struct remote_call call = {
        request->replica, "sums",
        json_pack("{s:I, s:I, s:I, s:i}", "epoch", (json_int_t)request->epoch, "at",
                  (json_int_t)request->at, "end", (json_int_t)request->end, "count",
                  (int)request->count),
        1
    };
    const json_t *answer = call_service(client, arena, &call, err);
    const json_t *list = json_object_get(answer, "sums");
    size_t got = json_array_size(list);
    int64_t begin = json_int_at(answer, "at");

    if (!answer)
        return -1;
    if (got > request->count || begin < request->at || begin > request->end)
        return error_set(err, ERROR_UNAVAILABLE, "%s: invalid checksums", address);
    for (size_t i = 0; i < got; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text || strlen(text) != (size_t)2 * REPLICA_SUM_SIZE ||
            !hex_decode(text, request->sums[i], REPLICA_SUM_SIZE))
            return error_set(err, ERROR_UNAVAILABLE, "%s: invalid checksum", address);
    }
    request->at = begin;
    return (int)got;
}

static int read_log(const struct replica_client *client, struct replica_request *request,
                    struct error *err) {
    const struct remote_call call = { request->replica, "read_log",
                                      json_pack("{s:I}", "epoch", (json_int_t)request->epoch), 1 };
    const json_t *answer = call_service(client, request->arena, &call, err);
    const char *nonce = json_text_of(answer, "nonce"), *entries = json_text_of(answer, "entries");
    struct write_log *ret = request->log;

    if (!answer)
        return -1;
    if (!nonce || strlen(nonce) >= NONCE_SIZE || !entries)
        return error_set(err, ERROR_UNAVAILABLE, "%s: invalid write log",
                         request->replica->address);
    *ret = (struct write_log){ .generation.number = json_int_at(answer, "generation") };
    strcpy(ret->generation.nonce, nonce);
    write_log_parse(request->arena, entries, ret);
    return 0;
}

/* ---- requests ---- */

static int call_remote(void *arg, struct replica_request *request, struct error *err) {
    const struct replica_client *client = arg;

    switch (request->kind) {
    case ACCESS_OPEN:
        return open_session(client, request, err);
    case ACCESS_CLOSE:
        return change(client, request, "close", LONG, json_object(), err);
    case ACCESS_PROBE:
        return probe(client, request);
    case ACCESS_WRITE_STATE:
        return change(client, request, "write_state", 1, state_body(request), err);
    case ACCESS_RESET:
        return change(client, request, "reset", LONG,
                      json_pack("{s:s, s:I}", "volume", request->volume, "maximum_bytes",
                                (json_int_t)request->bytes),
                      err);
    case ACCESS_FLUSH:
        return change(client, request, "flush", 1, json_object(), err);
    case ACCESS_SUMS:
        return sums(client, request, err);
    case ACCESS_BEGIN_LOG:
        return change(client, request, "begin_log", 1,
                      json_pack("{s:I, s:s, s:I, s:s}", "before_generation",
                                (json_int_t)request->before->number, "before_nonce",
                                request->before->nonce, "generation",
                                (json_int_t)request->next->number, "nonce", request->next->nonce),
                      err);
    case ACCESS_READ_LOG:
        return read_log(client, request, err);
    case ACCESS_LOCK:
    case ACCESS_CREATE:
    case ACCESS_ADOPT:
    case ACCESS_READ:
    case ACCESS_SNAPSHOT:
    case ACCESS_SNAPSHOT_SIZE:
        break;
    }
    return replica_request_refuse(request, err);
}

/* ---- begin and end ---- */

struct replica_client *replica_client_new(const struct replica_client_settings *settings) {
    struct replica_client *client = heap_new(sizeof(*client));

    client->settings = *settings;
    if (settings->timeout_ms <= 0)
        client->settings.timeout_ms = DEFAULT_MS;
    client->peer = (struct http_peer){
        .ca_file = settings->ca_file,
        .cert_file = settings->cert_file,
        .key_file = settings->key_file,
        .connect_timeout_ms =
            client->settings.timeout_ms < CONNECT_MS ? client->settings.timeout_ms : CONNECT_MS,
    };
    client->access = (struct replica_access){ .call = call_remote, .arg = client };
    return client;
}

void replica_client_free(struct replica_client *client) {
    free(client);
}

const struct replica_access *replica_client_access(const struct replica_client *client) {
    return &client->access;
}
