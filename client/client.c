#include "client/client.h"

#include "client/answer.h"
#include "common/clock.h"
#include "common/scoria_headers.h"
#include "identity/own_user.h"
#include "json/out.h"

#include <string.h>
#include <strings.h>

bool client_is_refusal(enum error_kind kind) {
    return kind == ERROR_UNAUTHORIZED || kind == ERROR_FORBIDDEN || kind == ERROR_NOT_ACCEPTABLE;
}

int client_find(const struct client *client, struct arena *arena, const char **ret,
                struct error *err) {
    *ret = client->url;
    return client->url ? 0
                       : own_user_endpoint(client->user, arena, client->types, client->timeout_ms,
                                           ret, err);
}

bool client_is_repeatable(const char *method) {
    return strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0;
}

static const char *path_of(struct arena *arena, const struct client_call *call) {
    return call->id ? arena_join(arena, call->path, "/", http_encode(arena, call->id),
                                 call->behind ? call->behind : "", NULL)
                    : call->path;
}

int client_send(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err) {
    const char *request_id = call->request_id ? call->request_id : client->request_id;
    struct http_header headers[7] = { 0 };
    unsigned count = 0;
    struct http_call sent = {
        .method = call->method,
        .headers = headers,
        .body = call->body,
        .timeout_ms = client->timeout_ms,
        .repeats = client->repeats,
        .safe = client_is_repeatable(call->method),
        .wanted_header = call->wanted_header,
        .lines = call->lines,
        .answer_most = call->answer_most,
        .until_us = client->until_us,
    };
    const char *url;

    if (client_find(client, arena, &url, err) < 0)
        return HTTP_NOT_SENT;
    sent.url = arena_format(arena, "%.*s%s", (int)http_length(url), url, path_of(arena, call));
    if (client->version)
        headers[count++] =
            (struct http_header){ "OpenStack-API-Version",
                                  arena_join(arena, client->service, " ", client->version, NULL) };
    if (client->token && !own_user_is_known(client->user))
        headers[count++] = (struct http_header){ "X-Auth-Token", client->token };
    if (request_id)
        headers[count++] = (struct http_header){ "X-OpenStack-Request-ID", request_id };
    if (client->instance)
        headers[count++] = (struct http_header){ INSTANCE_HEADER, client->instance };
    if (call->former)
        headers[count++] = (struct http_header){ call->former, call->header.value };
    headers[count] = call->header;
    return call->token ? own_user_call_as(client->user, arena, call->token, &sent, ret, err)
                       : own_user_call(client->user, arena, &sent, ret, err);
}

/* ---- classification of responses ---- */

/* A response of an intermediary or another service: unrelated to the request. */
static int strange(const struct client *client, const char *method,
                   const struct http_answer *answer, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "%s: status %d at %s is not a response of %s: %.160s",
                     method, answer->status, answer->url, client->name,
                     answer->body_size > 0 ? answer->body : "without a word");
}

static int exchange(const struct client *client, struct arena *arena,
                    const struct client_call *call, struct http_answer *ret, struct error *err) {
    struct error failure = { 0 };
    const char *path = path_of(arena, call);
    char uuid[UUID_SIZE];
    struct answer said;

    if (call->id && !uuid_parse(call->id, uuid))
        return error_set(err, ERROR_NOT_FOUND, "%s %s: there is no such id", call->method, path);
    if (client_send(client, arena, call, ret, &failure) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s %s: %s", call->method, path, failure.message);
    if (ret->status >= 200 && ret->status <= 299)
        return 0;
    said = answer_read(arena, ret);
    if (said.form == ANSWER_STRANGE)
        return strange(client, call->method, ret, err);
    if (said.form == ANSWER_PATH && said.kind == ERROR_UNAVAILABLE && call->may_lack)
        said.kind = ERROR_NOT_FOUND;
    return error_set(err, said.kind, "%s %s: %s answered %d: %.200s", call->method, path,
                     client->name, ret->status, said.message);
}

int client_call(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err) {
    bool done;

    if (exchange(client, arena, call, ret, err) < 0)
        return -1;
    done = call->done[0] == 0 || call->done[0] == ret->status || call->done[1] == ret->status;
    if (!done ||
        (ret->body_size > 0 && !call->lines && !json_parse(arena, ret->body, ret->body_size, NULL)))
        return strange(client, call->method, ret, err);
    return 0;
}

const json_t *client_ask(const struct client *client, struct arena *arena,
                         const struct client_call *call, struct http_answer *ret,
                         struct error *err) {
    const json_t *root;

    if (exchange(client, arena, call, ret, err) < 0)
        return NULL;
    root = json_parse(arena, ret->body, ret->body_size, NULL);
    if (!json_is_object(root)) {
        strange(client, call->method, ret, err);
        return NULL;
    }
    return root;
}

const json_t *client_member(const struct client *client, struct arena *arena,
                            const struct client_call *call, const json_t *root, const char *name,
                            struct error *err) {
    const json_t *member = json_object_get(root, name);
    const char *id = json_text_of(member, "id");
    /* a cache, or a gateway that routes all paths to one resource, returns another object */
    bool is_its_own = !call->id || (call->behind && *call->behind != '?') ||
                      (id && strcasecmp(id, call->id) == 0);

    if (member && is_its_own)
        return member;
    if (root)
        error_set(err, ERROR_UNAVAILABLE, "%s %s: %s's answer has no %s%s", call->method,
                  path_of(arena, call), client->name, name, member ? " of this id" : "");
    return NULL;
}

const json_t *client_ask_for(const struct client *client, struct arena *arena,
                             const struct client_call *call, const char *name, struct error *err) {
    struct http_answer answer;
    const json_t *root = client_ask(client, arena, call, &answer, err);

    return client_member(client, arena, call, root, name, err);
}

const json_t *client_list_member(const struct client *client, struct arena *arena,
                                 const struct client_call *call, const json_t *root,
                                 const char *name, struct error *err) {
    const json_t *list = client_member(client, arena, call, root, name, err);

    if (!list || json_is_array(list))
        return list;
    error_set(err, ERROR_UNAVAILABLE, "the response of %s is not a list of %s", client->name, name);
    return NULL;
}

const json_t *client_ask_list(const struct client *client, struct arena *arena,
                              const struct client_call *call, const char *name, struct error *err) {
    struct http_answer answer;
    const json_t *root = client_ask(client, arena, call, &answer, err);

    return client_list_member(client, arena, call, root, name, err);
}

int client_list(const struct client *client, struct arena *arena, const char *path,
                const char *name, client_row *read, size_t row_size, void **ret,
                struct error *err) {
    const struct client_call call = { .method = "GET", .path = path };
    const json_t *list = client_ask_list(client, arena, &call, name, err);
    char *rows;

    if (!list)
        return -1;
    rows = arena_alloc(arena, (json_array_size(list) + 1) * row_size);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read(arena, json_array_get(list, i), rows + i * row_size, err) < 0)
            return -1;
    *ret = rows;
    return (int)json_array_size(list);
}

void client_put_metadata(struct json_out *out, const struct remote_pair *pairs) {
    out_open_object(out, "metadata");
    for (; pairs && pairs->key; pairs++) {
        out_key_text(out, pairs->key);
        out_text(out, pairs->value);
    }
    out_end_object(out);
}

const char *client_page(struct arena *arena, const char *path, const char *query,
                        const char *marker, unsigned limit) {
    const char *behind = query ? query : "";

    if (limit)
        behind = arena_format(arena, "%s%slimit=%u", behind, *behind ? "&" : "", limit);
    if (marker)
        behind = arena_join(arena, behind, *behind ? "&" : "",
                            "marker=", http_encode(arena, marker), NULL);
    return *behind ? arena_join(arena, path, "?", behind, NULL) : path;
}
