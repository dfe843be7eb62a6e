#include "client/documents.h"

#include "http/exchange.h"

#include <string.h>

#define PAGE_MOST    1000
#define FETCHES_MOST 5
#define GONE         204 /* success of a delete, */
#define GOES         202 /* and while the object is still in use */

static const char *place_of(struct arena *arena, const struct remote_documents *kind,
                            const char *name, bool changes) {
    return arena_join(arena, "/", kind->collection, name ? "/" : "",
                      name ? http_encode(arena, name) : "",
                      changes && kind->dry_run ? "?dry_run=true" : "", NULL);
}

static bool says(const json_t *document, const char *key, const char *text) {
    const json_t *metadata = json_object_get(document, "metadata");
    const char *found = json_text_of(metadata ? metadata : document, key); /* of a pool */

    return found && strcmp(found, text) == 0;
}

static const json_t *ask_for_one(const struct client *client, struct arena *arena,
                                 const struct remote_documents *kind,
                                 const struct client_call *call, const char *name,
                                 struct error *err) {
    const json_t *document = client_ask_for(client, arena, call, kind->word, err);

    if (!document || !name || says(document, "name", name) || says(document, "uid", name))
        return document;
    error_set(err, ERROR_UNAVAILABLE, "%s %s: %s's answer is another document's", call->method,
              call->path, client->name);
    return NULL;
}

/* A request whose body is the document in its wrapper. */
static const json_t *send_wrapped(const struct client *client, struct arena *arena,
                                  const struct remote_documents *kind, const char *method,
                                  const char *name, const json_t *document, struct error *err) {
    json_t *body = json_keep(arena, json_object());
    const struct client_call call = {
        .method = method,
        .path = place_of(arena, kind, name, true),
        .body = (json_object_set(body, kind->word, (json_t *)(uintptr_t)document),
                 json_text(arena, body)),
    };

    return ask_for_one(client, arena, kind, &call, name, err);
}

const json_t *document_fetch(const struct client *client, struct arena *arena,
                             const struct remote_documents *kind, const char *name,
                             struct error *err) {
    const struct client_call call = { .method = "GET",
                                      .path = place_of(arena, kind, name, false),
                                      .may_lack = kind->may_lack };

    return ask_for_one(client, arena, kind, &call, name, err);
}

const json_t *document_fetch_below(const struct client *client, struct arena *arena,
                                   const struct remote_documents *kind, const char *name,
                                   const char *below, const char *key, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = arena_join(arena, place_of(arena, kind, name, false), "/", below, NULL),
    };

    return client_ask_for(client, arena, &call, key, err);
}

/* 1: the last document of a page was deleted, and its position is lost. */
static int fetch_all(const struct client *client, struct arena *arena,
                     const struct remote_documents *kind, const json_t **ret, struct error *err) {
    json_t *all = json_keep(arena, json_array());
    const char *query = arena_join(arena, "sort=id:asc", kind->node ? "&node=" : "",
                                   kind->node ? http_encode(arena, kind->node) : "", NULL);
    const char *links = arena_join(arena, kind->collection, "_links", NULL), *marker = NULL;
    const char *last;

    do {
        const struct client_call call = {
            .method = "GET",
            .path =
                client_page(arena, place_of(arena, kind, NULL, false), query, marker, PAGE_MOST),
        };
        struct http_answer answer;
        const json_t *root = client_ask(client, arena, &call, &answer, err);
        const json_t *page = client_list_member(client, arena, &call, root, kind->collection, err);

        if (!page)
            return marker && (err->kind == ERROR_BAD_REQUEST || err->kind == ERROR_NOT_FOUND) ? 1
                                                                                              : -1;
        last = NULL;
        for (size_t i = 0; i < json_array_size(page); i++) {
            last = json_text_at(json_array_get(page, i), "metadata.uid");
            if (!last && !json_text_of(json_array_get(page, i), "name"))
                return error_set(err, ERROR_UNAVAILABLE, "%s described no document", client->name);
        }
        /* of an intermediary that drops the query, for ever */
        if (last && marker && strcmp(last, marker) == 0)
            return error_set(err, ERROR_UNAVAILABLE, "%s returned the same page twice",
                             client->name);
        json_array_extend(all, (json_t *)(uintptr_t)page);
        /* the last page has no link to a next; objects without a uid (pools) have one page */
        marker = json_has(root, links) ? last : NULL;
    } while (marker);
    *ret = all;
    return 0;
}

const json_t *documents_fetch(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, struct error *err) {
    const json_t *all = NULL;
    int outcome = 1;

    for (unsigned tries = 0; outcome > 0 && tries < FETCHES_MOST; tries++)
        outcome = fetch_all(client, arena, kind, &all, err);
    return outcome == 0 ? all : NULL;
}

const json_t *document_send(const struct client *client, struct arena *arena,
                            const struct remote_documents *kind, const json_t *document,
                            struct error *err) {
    return send_wrapped(client, arena, kind, "POST", NULL, document, err);
}

const json_t *document_change(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, const char *name,
                              const json_t *document, struct error *err) {
    return send_wrapped(client, arena, kind, "PATCH", name, document, err);
}

const json_t *document_change_whole(const struct client *client, struct arena *arena,
                                    const struct remote_documents *kind, const char *name,
                                    const json_t *document, struct error *err) {
    return send_wrapped(client, arena, kind, "PUT", name, document, err);
}

int document_drop(const struct client *client, struct arena *arena,
                  const struct remote_documents *kind, const char *name, struct error *err) {
    const struct client_call call = { .method = "DELETE",
                                      .path = place_of(arena, kind, name, true),
                                      .done = { GONE, GOES } };
    struct http_answer answer;

    return client_call(client, arena, &call, &answer, err);
}

int document_drop_version(const struct client *client, struct arena *arena,
                          const struct remote_documents *kind, const char *name,
                          const char *version, struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = arena_join(arena, place_of(arena, kind, name, false),
                           "?resourceVersion=", http_encode(arena, version), NULL),
        .done = { GONE, GOES },
    };
    struct http_answer answer;

    return client_call(client, arena, &call, &answer, err);
}

const json_t *document_act(const struct client *client, struct arena *arena,
                           const struct remote_documents *kind, const char *name,
                           const char *action, const json_t *body, const char *key,
                           struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = arena_join(arena, place_of(arena, kind, name, false), "/", action, NULL),
        .body = json_text(arena, body),
    };

    return client_ask_for(client, arena, &call, key, err);
}

int document_report_status(const struct client *client, struct arena *arena,
                           const struct remote_documents *kind, const char *uid,
                           const json_t *status, struct error *err) {
    json_t *body = json_keep(arena, json_object());
    struct client_call call = {
        .method = "PUT",
        .path = arena_join(arena, "/", kind->collection, NULL),
        .id = uid,
        .behind = "/status",
    };
    struct http_answer answer;

    json_object_set_new(body, "nodeId", json_string(kind->node));
    json_object_set(body, "status", (json_t *)(uintptr_t)status);
    call.body = json_text(arena, body);
    return client_ask(client, arena, &call, &answer, err) ? 0 : -1;
}
