#include "kubernetes/cluster.h"

#include "client/answer.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "json/json.h"
#include "json/span.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALL_MS          10000
#define PAGE             500
#define PAGE_PARTS       8                          /* of a page that was too large */
#define LINE_MOST        ((size_t)16 * 1024 * 1024) /* 1.5 MiB of etcd, each byte escaped as six */
#define TOKEN_MOST       16384
#define GONE_STATUS      410
#define NOT_FOUND_STATUS 404

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

/* ERROR_TOO_LARGE: the response is above the limit. */
static int send_call(const struct cluster *cluster, struct arena *arena, struct http_call *call,
                     const char *path, struct http_answer *ret, struct error *err) {
    struct http_header headers[2] = { { .name = NULL } };
    enum error_kind kind;
    const char *message;
    const json_t *said;
    int outcome;

    if (cluster->token_file) {
        headers[0].name = "Authorization";
        if (read_token(cluster, arena, &headers[0].value, err) < 0)
            return -1;
    }
    call->url = arena_format(arena, "%.*s%s", (int)http_length(cluster->url), cluster->url, path);
    call->headers = headers;
    call->peer = &cluster->peer;
    call->until_us = cluster->until_us;
    outcome = http_call(arena, call, ret, err);
    call->headers = NULL; /* this function's own */
    if (outcome != 0) {
        err->kind = outcome == HTTP_TOO_LARGE ? ERROR_TOO_LARGE : ERROR_UNAVAILABLE;
        return -1;
    }
    if (ret->status >= 200 && ret->status <= 299)
        return 0;
    kind = answer_kind_of(ret->status);
    said = json_parse(arena, ret->body, ret->body_size, NULL);
    message = json_text_of(said, "message");
    /* a missing object is reported by the server itself in a Status with this reason; an unknown
     * path, also at a gateway, in another form */
    if (kind != ERROR_UNAVAILABLE &&
        (!json_text_is(said, "kind", "Status") || json_int_at(said, "code") != ret->status ||
         (ret->status == NOT_FOUND_STATUS && !json_text_is(said, "reason", "NotFound"))))
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: status %d at %s is not a response of Kubernetes: %.160s",
                         call->method, ret->status, call->url, ret->body);
    return error_set(err, kind, "%s %s: Kubernetes answered %d: %.300s", call->method, call->url,
                     ret->status, message ? message : ret->body);
}

int cluster_call(const struct cluster *cluster, struct arena *arena, const char *method,
                 const char *path, const json_t *body, const json_t **ret, struct error *err) {
    struct http_call call = {
        .method = method,
        .body = body ? json_text(arena, body) : NULL,
        .timeout_ms = CALL_MS,
    };
    struct http_answer answer;
    struct error failure;
    const json_t *said;

    if (send_call(cluster, arena, &call, path, &answer, err) < 0)
        return -1;
    said = json_parse(arena, answer.body, answer.body_size, &failure);
    if (!said)
        return error_set(err, ERROR_UNAVAILABLE, "%s %s: Kubernetes' answer is no JSON: %s", method,
                         call.url, failure.message);
    if (ret)
        *ret = said;
    return 0;
}

/* ---- parsing of objects ---- */

static struct json_span span_of(const char *text, size_t size) {
    return (struct json_span){ text, text + size };
}

static const char *text_below(struct arena *arena, struct json_span object, const char *name) {
    struct json_span found;

    return json_span_member(object, name, &found) ? json_span_text(arena, found) : NULL;
}

/* Name and version only: other content of an object (deep nesting, numbers of any size, NUL) must
 * not prevent the other objects from being read. */
static const json_t *read_object(struct arena *arena, struct json_span object) {
    struct json_span metadata = { "", "" };

    json_span_member(object, "metadata", &metadata);
    return json_keep(arena, json_pack("{s:{s:s*, s:s*, s:s*}}", "metadata", "namespace",
                                      text_below(arena, metadata, "namespace"), "name",
                                      text_below(arena, metadata, "name"), "resourceVersion",
                                      text_below(arena, metadata, "resourceVersion")));
}

/* ---- lists ---- */

static bool keep_version(struct cluster_version *version, const json_t *object) {
    const char *text = json_text_at(object, "metadata.resourceVersion");

    if (!text || !*text || strlen(text) >= sizeof version->text)
        return false;
    strcpy(version->text, text);
    return true;
}

/* A page; *more: the start of the next one, in the arena. */
static int read_page(const struct cluster *cluster, struct arena *arena, const char *path,
                     cluster_object *each, void *arg, const char **more,
                     struct cluster_version *ret, struct error *err) {
    struct http_call call = { .method = "GET", .timeout_ms = CALL_MS };
    struct json_span list, items, item;
    struct http_answer answer;

    if (send_call(cluster, arena, &call, path, &answer, err) < 0)
        return -1;
    list = span_of(answer.body, answer.body_size);
    if (!keep_version(ret, read_object(arena, list)) || !json_span_member(list, "items", &items) ||
        *items.begin != '[')
        return error_set(err, ERROR_UNAVAILABLE, "GET %s: the response is not a list", path);
    while (json_span_next(&items, &item)) {
        autoarena struct arena *own = arena_new();

        each(arg, read_object(own, item));
    }
    if (json_span_member(list, "metadata", &item))
        *more = text_below(arena, item, "continue");
    return 0;
}

int cluster_list(const struct cluster *cluster, const char *path, cluster_object *each, void *arg,
                 struct cluster_version *ret, struct error *err) {
    autoarena struct arena *kept = arena_new();
    const char *more = "";
    int limit = PAGE;

    for (;;) {
        autoarena struct arena *arena = arena_new();
        const char *page = arena_format(arena, "%s?limit=%d%s%s", path, limit,
                                        *more ? "&continue=" : "", http_encode(arena, more));
        const char *next = NULL;

        if (read_page(cluster, arena, page, each, arg, &next, ret, err) == 0) {
            if (!next || !*next)
                return 0;
            more = arena_text(kept, next);
        } else if (err->kind == ERROR_TOO_LARGE && limit > 1)
            limit = limit > PAGE_PARTS ? limit / PAGE_PARTS : 1;
        else
            return -1;
    }
}

/* ---- watches ---- */

struct watch {
    struct arena *arena; /* of the current line */
    cluster_object *each;
    void *arg;
    struct cluster_version *version;
    bool gone;
    struct error *err; /* set: it has failed */
    bool failed;
};

static bool take_event(struct watch *watch, struct json_span event) {
    const char *type = text_below(watch->arena, event, "type"), *message;
    struct json_span text = { "", "" };
    const json_t *object;

    json_span_member(event, "object", &text);
    if (type && strcmp(type, "ERROR") == 0) { /* the version is too old, or a failure */
        object = json_parse(watch->arena, text.begin, (size_t)(text.end - text.begin), NULL);
        message = json_text_of(object, "message");
        watch->gone = json_int_at(object, "code") == GONE_STATUS;
        watch->failed = !watch->gone;
        error_set(watch->err, ERROR_UNAVAILABLE, "Kubernetes ends the watch: %s",
                  message ? message : "no reason given");
        return false;
    }
    object = read_object(watch->arena, text);
    if (!type || !keep_version(watch->version, object)) {
        watch->failed = true;
        error_set(watch->err, ERROR_UNAVAILABLE, "malformed watch event of Kubernetes");
        return false;
    }
    if (strcmp(type, "BOOKMARK") != 0)
        watch->each(watch->arg, object);
    return true;
}

static bool take_line(void *arg, const char *line, size_t size) {
    struct watch *watch = arg;
    bool goes_on = size == 0 || take_event(watch, span_of(line, size));

    arena_reset(watch->arena);
    return goes_on;
}

/* The server ends an idle watch in time; a lost one is detected soon after. */
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
    struct http_answer answer;
    int result;

    path = arena_format(arena,
                        "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%" PRId64
                        "&resourceVersion=%s",
                        path, lasts_s, http_encode(arena, version->text));
    result = send_call(cluster, arena, &call, path, &answer, &failure);
    if (watch.failed)
        return -1;
    if (watch.gone || failure.kind == ERROR_GONE)
        return 1;
    return result == 0 ? 0 : error_pass(err, &failure);
}
