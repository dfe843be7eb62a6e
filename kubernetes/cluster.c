#include "kubernetes/cluster.h"

#include "client/client.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "json/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALL_MS     10000
#define PAGE        500
#define LINE_MOST   ((size_t)4 * 1024 * 1024) /* an object of etcd has 1.5 MiB */
#define TOKEN_MOST  16384
#define GONE_STATUS 410

/* ---- one call ---- */

static int read_token(const struct cluster *cluster, struct arena *arena, const char **ret,
                      struct error *err) {
    char text[TOKEN_MOST];
    autofile FILE *file = fopen(cluster->token_file, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (!file || ferror(file))
        return error_errno(err, ERROR_UNAVAILABLE, "token of Kubernetes: %s", cluster->token_file);
    text[size] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    *ret = arena_join(arena, "Bearer ", text, NULL);
    return 0;
}

/* What a Status says, or all of it. */
static int judge(const struct http_call *call, struct arena *arena,
                 const struct http_answer *answer, const json_t **ret, struct error *err) {
    struct error failure = { 0 };
    const json_t *root = json_parse(arena, answer->body, answer->body_size, &failure);
    const char *message = json_text_of(root, "message");

    if (answer->status < 200 || answer->status > 299)
        return error_set(err, client_kind_of(answer->status),
                         "%s %s: Kubernetes answered %d: %.300s", call->method, call->url,
                         answer->status, message ? message : answer->body);
    if (!root && !call->lines)
        return error_set(err, ERROR_UNAVAILABLE, "%s %s: Kubernetes' answer is no JSON: %s",
                         call->method, call->url, failure.message);
    *ret = root;
    return 0;
}

static int send_call(const struct cluster *cluster, struct arena *arena, struct http_call *call,
                     const char *path, const json_t **ret, struct error *err) {
    struct http_header headers[2] = { { .name = NULL } };
    struct http_answer answer;

    if (cluster->token_file) {
        headers[0].name = "Authorization";
        if (read_token(cluster, arena, &headers[0].value, err) < 0)
            return -1;
    }
    call->url = arena_format(arena, "%.*s%s", (int)http_length(cluster->url), cluster->url, path);
    call->headers = headers;
    call->peer = &cluster->peer;
    call->until_us = cluster->until_us;
    if (http_call(arena, call, &answer, err) != 0) {
        err->kind = ERROR_UNAVAILABLE;
        return -1;
    }
    return judge(call, arena, &answer, ret, err);
}

int cluster_call(const struct cluster *cluster, struct arena *arena, const char *method,
                 const char *path, const json_t *body, const json_t **ret, struct error *err) {
    struct http_call call = {
        .method = method,
        .body = body ? json_text(arena, body) : NULL,
        .timeout_ms = CALL_MS,
    };
    const json_t *said;

    return send_call(cluster, arena, &call, path, ret ? ret : &said, err);
}

/* ---- lists ---- */

static const json_t *metadata_of(const json_t *object) {
    return json_object_get(object, "metadata");
}

static bool keep_version(struct cluster_version *version, const json_t *object) {
    const char *text = json_text_of(metadata_of(object), "resourceVersion");

    if (!text || !*text || strlen(text) >= sizeof version->text)
        return false;
    strcpy(version->text, text);
    return true;
}

int cluster_list(const struct cluster *cluster, const char *path, cluster_object *each, void *arg,
                 struct cluster_version *ret, struct error *err) {
    autoarena struct arena *kept = arena_new();
    const char *more = "";

    for (;;) {
        autoarena struct arena *arena = arena_new();
        const char *page = arena_format(arena, "%s?limit=%d%s%s", path, PAGE,
                                        *more ? "&continue=" : "", http_encode(arena, more));
        const json_t *list, *items;

        if (cluster_call(cluster, arena, "GET", page, NULL, &list, err) < 0)
            return -1;
        items = json_object_get(list, "items");
        for (size_t i = 0; i < json_array_size(items); i++)
            each(arg, json_array_get(items, i));
        if (!keep_version(ret, list))
            return error_set(err, ERROR_UNAVAILABLE, "GET %s: the list has no version", path);
        more = json_text_of(metadata_of(list), "continue");
        if (!more || !*more)
            return 0;
        more = arena_text(kept, more);
    }
}

/* ---- watches ---- */

struct watch {
    struct arena *arena; /* of the line at hand */
    cluster_object *each;
    void *arg;
    struct cluster_version *version;
    bool gone;
    struct error *err; /* set: it has failed */
    bool failed;
};

/* The server's own words: its version is too old, or something has broken. */
static bool take_failure(struct watch *watch, const json_t *status) {
    const char *message = json_text_of(status, "message");

    watch->gone = json_integer_value(json_object_get(status, "code")) == GONE_STATUS;
    watch->failed = !watch->gone;
    error_set(watch->err, ERROR_UNAVAILABLE, "Kubernetes ends the watch: %s",
              message ? message : "it does not say why");
    return false;
}

static bool take_event(struct watch *watch, const json_t *event) {
    const char *type = json_text_of(event, "type");
    const json_t *object = json_object_get(event, "object");

    if (type && strcmp(type, "ERROR") == 0)
        return take_failure(watch, object);
    if (!type || !keep_version(watch->version, object)) {
        watch->failed = true;
        error_set(watch->err, ERROR_UNAVAILABLE, "Kubernetes tells an event that makes no sense");
        return false;
    }
    if (strcmp(type, "BOOKMARK") != 0)
        watch->each(watch->arg, object);
    return true;
}

static bool take_line(void *arg, const char *line, size_t size) {
    struct watch *watch = arg;
    bool goes_on = size == 0 || take_event(watch, json_parse(watch->arena, line, size, watch->err));

    arena_reset(watch->arena);
    return goes_on;
}

/* A server that is quiet ends it in time; one that has gone is found out soon after. */
int cluster_watch(const struct cluster *cluster, const char *path, int64_t lasts_s,
                  cluster_object *each, void *arg, struct cluster_version *version,
                  struct error *err) {
    autoarena struct arena *arena = arena_new(), *own = arena_new();
    struct watch watch = { .arena = own, .each = each, .arg = arg, .version = version, .err = err };
    const struct http_lines lines = {
        .each = take_line, .arg = &watch, .most = LINE_MOST, .quiet_ms = (lasts_s + 15) * 1000
    };
    struct http_call call = { .method = "GET",
                              .timeout_ms = (lasts_s + 30) * 1000,
                              .lines = &lines };
    struct error failure = { 0 };
    const json_t *said;
    int result;

    path = arena_format(arena,
                        "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%" PRId64
                        "&resourceVersion=%s",
                        path, lasts_s, http_encode(arena, version->text));
    result = send_call(cluster, arena, &call, path, &said, &failure);
    if (watch.failed)
        return -1;
    if (watch.gone || failure.kind == ERROR_GONE)
        return 1;
    return result == 0 ? 0 : error_pass(err, &failure);
}
