/*
 * Any bytes as "path?query" of a GET, a version and a project before them: every request gets
 * exactly one answer, and no list fails with an internal error (its SQL is always well-formed).
 */
#include "api/documents/watch.h"
#include "api/documents/watchers.h"
#include "http/stream.h"
#include "identity/identity.h"
#include "model/volume/volume.h"
#include "policy/rule.h"
#include "rest/page_read.h"
#include "rest/route.h"
#include "rest/router.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",         "v.id",           COLUMN_TEXT,   true,  0 },
    { "name",       "v.display_name", COLUMN_TEXT,   true,  0 },
    { "status",     "v.status",       COLUMN_STATUS, true,  0 },
    { "size",       "v.size_gb",      COLUMN_INT,    true,  0 },
    { "bootable",   "v.bootable",     COLUMN_BOOL,   true,  0 },
    { "created_at", "v.created_at",   COLUMN_TIME,   true,  60 },
    { "updated_at", "v.updated_at",   COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

static const struct resource rules = {
    .alias = "v",
    .collection = "volumes",
    .links_word = "volumes_links",
    .table = "volumes",
    .columns = columns,
    .default_sort = "created_at",
    .by_project = true,
};

static int list(struct request *request, struct error *err) {
    struct volume *volumes;
    struct page page;
    int64_t total = 0;
    int count;

    if (page_read(request, &rules, &page, err) < 0)
        return -1;
    count = volume_list(&request->work, &page.query, &volumes, err);
    if (count < 0 || page_count(request, &page, &total, err) < 0)
        return -1;
    assert(count <= total || page.empty);
    out_begin_object(&request->out);
    page.last_id = count ? volumes[count - 1].id : NULL;
    page_put_links(request, &page, (unsigned)count, total, true);
    out_end_object(&request->out);
    return 0;
}

static int watch(struct request *request, struct error *err) {
    return document_watch(request, &kind_volume_policy, err);
}

static const struct resource watched = {
    .collection = "volume_policies", .by_project = true, .all_by = "node", .watch = watch
};

static const struct route list_routes[] = {
    { .method = "GET", .path = "/volumes", .handler = list, .status = 200 },
    { .method = "GET", .path = "/w", .resource = &watched, .handler = watch, .status = 200 },
    { .method = "GET", .path = "/volumes/{id}/metadata/{key}", .handler = list, .status = 200 },
    ROUTES_END,
};

const struct route *const api_routes[] = { list_routes, NULL };

static int insert(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        const char id[] = { (char)('a' + i), '\0' };

        if (db_run(tx, err,
                   "INSERT INTO volumes (id, project_id, user_id, availability_zone, display_name, "
                   "size_gb, largest_gb, status, status_by_reset, attach_status, bootable, "
                   "multiattach, use_quota, created_at) VALUES "
                   "($1, 'admin', 'u', 'z', $2, $3, 1, 'available', 0, 'detached', 0, 0, 1, $3)",
                   DB_TEXT(id), DB_TEXT(i % 3 ? "n" : NULL), DB_INT(i)) < 0)
            return -1;
    }
    return 0;
}

static struct api *open_api(void) {
    static const struct settings settings = { .clock = &clock_system, .max_limit = 5 };
    struct api_settings api = { .settings = &settings,
                                .identity = &identity_none,
                                .watches = &document_watchers,
                                .inline_transactions = true };
    struct policy *policy;
    struct api *made;
    struct error err;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    if (db_open(&(struct db_settings){ .url = "sqlite://", .inline_writes = true }, &api.db, &err) <
            0 ||
        policy_load(&(struct policy_settings){ .enforce_new_defaults = true }, &policy, &err) < 0)
        abort();
    api.policy = policy;
    if (db_transaction(api.db, insert, NULL, &err) < 0 || api_new(&api, &made, &err) < 0)
        abort();
    return made;
}

struct fuzzed {
    char version[32];
    unsigned answers;
    struct http_stream stream;
    bool opened, ended;
};

static const char *find_header(const struct http_exchange *exchange, const char *name) {
    const struct fuzzed *fuzzed = exchange->transport;

    return strcmp(name, "OpenStack-API-Version") == 0 ? fuzzed->version : NULL;
}

static void keep_answer(struct http_exchange *exchange) {
    struct fuzzed *fuzzed = exchange->transport;

    fuzzed->answers++;
}

/* The watching client has gone at once. */
static enum http_stream_state put(struct http_stream *stream, const char *bytes, size_t size) {
    (void)stream, (void)bytes, (void)size;
    return HTTP_STREAM_OVER;
}

static void end(struct http_stream *stream) {
    struct fuzzed *fuzzed =
        (struct fuzzed *)(void *)((char *)stream - offsetof(struct fuzzed, stream));

    assert(fuzzed->opened && !fuzzed->ended);
    fuzzed->ended = true;
}

static struct http_stream *open_stream(struct http_exchange *exchange) {
    struct fuzzed *fuzzed = exchange->transport;

    fuzzed->opened = true;
    fuzzed->stream = (struct http_stream){ .put = put, .end = end };
    return &fuzzed->stream;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct api *api;
    autoarena struct arena *arena = arena_new();
    struct fuzzed fuzzed = { .answers = 0 };
    struct http_exchange exchange = { .arena = arena,
                                      .method = "GET",
                                      .peer = "fuzz",
                                      .body = "",
                                      .find_header = find_header,
                                      .send = keep_answer,
                                      .open = open_stream,
                                      .transport = &fuzzed };
    char *text, *query;

    if (!api)
        api = open_api();
    if (size < 2)
        return 0;
    snprintf(fuzzed.version, sizeof(fuzzed.version), "volume 3.%u", data[0] % 72U);
    text = arena_text_n(arena, (const char *)data + 2, size - 2);
    query = strchr(text, '?');
    if (query)
        *query++ = '\0';
    exchange.query = query ? query : "";
    exchange.path = data[1] % 2 ? text : arena_format(arena, "/v3/volumes%s", text);
    api_handle(api, &exchange);
    assert(fuzzed.answers == 1);
    assert(fuzzed.opened == fuzzed.ended);
    assert(exchange.status < 500);
    return 0;
}
