#include "rest/metadata.h"

#include "common/cleanup.h"
#include "common/md5.h"
#include "common/scoria_headers.h"
#include "operation/pairs.h"
#include "rest/view_pairs.h"

#include <string.h>

#define STATUS_PRECONDITION_FAILED 412

const struct field metadata_fields[] = {
    FIELD_META(struct metadata_body, pairs, "metadata", FIELD_REQUIRED),
    FIELDS_END,
};

const struct field metadata_one_fields[] = {
    FIELD_META(struct metadata_body, pairs, "meta", FIELD_REQUIRED),
    FIELDS_END,
};

int metadata_check(const struct resource *resource, const struct pairs *pairs, struct error *err) {
    const struct resource_metadata *metadata = resource->metadata;

    for (unsigned i = 0; i < pairs->count; i++) {
        const char *key = pairs->items[i].key;

        if (metadata->reserves && metadata->reserves(key))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid metadata: the key %s is reserved for the service.", key);
        if (metadata->no_slash && strchr(key, '/'))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid metadata: the key %s must have no slash.", key);
    }
    return 0;
}

int metadata_check_unreported(const struct request *request, const struct pairs *pairs, bool *ret,
                              struct error *err) {
    const char *key = http_header(request->http, UNREPORTED_HEADER);

    *ret = key != NULL;
    return !key || pairs_get(pairs, key)
               ? 0
               : error_set(err, ERROR_CONFLICT, "The object has no metadata %.64s any more.", key);
}

static void put_answer(struct json_out *out, const char *word, const struct pairs *pairs) {
    out_begin_object(out);
    out_key_text(out, word);
    view_pairs(out, pairs);
    out_end_object(out);
}

/* With the key of the route. */
static void answer_pairs(struct request *request, const struct pairs *pairs) {
    put_answer(&request->out, request->route->answer, pairs);
}

static const struct resource_metadata *metadata_of(const struct request *request) {
    return request->route->resource->metadata;
}

static const char *id_of(const struct request *request) {
    return resource_row_id(request->route->resource, request->object);
}

static int read_set(struct request *request, struct pairs *ret, struct error *err) {
    return pair_rows_get(&request->work, metadata_of(request)->rows, id_of(request), ret, err);
}

static bool has_etags(const struct request *request) {
    return metadata_of(request)->etags && request->minor >= MV_ETAGS;
}

static const char *etag_of(struct request *request, const struct pairs *pairs) {
    char etag[MD5_HEX_SIZE];
    struct json_out out;

    json_out_init(&out, request->work.arena, 256);
    put_answer(&out, "metadata", pairs);
    md5_hex(out.text, out.size, etag);
    return arena_text(request->work.arena, etag);
}

/* The header's tags are bare or quoted, one or a list; "*" is any. */
static bool is_among_tags(const char *header, const char *etag) {
    static const char between[] = " \t,\"";

    for (header += strspn(header, between); *header; header += strspn(header, between)) {
        size_t length = strcspn(header, between);

        if ((length == 1 && *header == '*') ||
            (length == strlen(etag) && memcmp(header, etag, length) == 0))
            return true;
        header += length;
    }
    return false;
}

/* 0 with the response set: the metadata have changed since the client read them. */
static int holds_precondition(struct request *request, struct error *err) {
    const char *tags = has_etags(request) ? http_header(request->http, "If-Match") : NULL;
    struct pairs pairs;

    if (!tags)
        return 1;
    if (read_set(request, &pairs, err) < 0)
        return -1;
    if (is_among_tags(tags, etag_of(request, &pairs)))
        return 1;
    request->status = STATUS_PRECONDITION_FAILED;
    return 0;
}

static int set_pairs(struct request *request, const struct pairs *pairs, bool merge,
                     struct error *err) {
    return metadata_of(request)->set(&request->work, request->object, pairs, merge, err);
}

static int set_and_answer(struct request *request, bool merge, struct error *err) {
    const struct metadata_body *body = request->body;
    struct pairs pairs = request_pairs(request, body->pairs);

    if (metadata_check(request->route->resource, &pairs, err) < 0 ||
        set_pairs(request, &pairs, merge, err) < 0 || read_set(request, &pairs, err) < 0)
        return -1;
    answer_pairs(request, &pairs);
    return 0;
}

int metadata_show(struct request *request, struct error *err) {
    struct pairs pairs;

    if (read_set(request, &pairs, err) < 0)
        return -1;
    if (has_etags(request))
        request_header(request, "Etag", etag_of(request, &pairs));
    answer_pairs(request, &pairs);
    return 0;
}

int metadata_add(struct request *request, struct error *err) {
    return set_and_answer(request, true, err);
}

int metadata_replace(struct request *request, struct error *err) {
    int holds = holds_precondition(request, err);

    return holds > 0 ? set_and_answer(request, false, err) : holds;
}

int metadata_show_key(struct request *request, struct error *err) {
    struct pair pair = { .key = request->key };
    int found = pair_rows_find(&request->work, metadata_of(request)->rows, id_of(request),
                               request->key, &pair.value, err);

    if (error_if_none(found, err, ERROR_NOT_FOUND, "%s %s has no metadata with key %s.",
                      request->route->resource->label, id_of(request), request->key) < 0)
        return -1;
    answer_pairs(request, &(struct pairs){ &pair, 1 });
    return 0;
}

int metadata_set_key(struct request *request, struct error *err) {
    const struct metadata_body *body = request->body;
    struct pairs pairs = request_pairs(request, body->pairs);
    int holds;

    if (pairs.count != 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid metadata: the request body must have exactly one item.");
    if (strcmp(pairs.items[0].key, request->key) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid metadata: the path names the key %s, the request body %s.",
                         request->key, pairs.items[0].key);
    if (metadata_check(request->route->resource, &pairs, err) < 0)
        return -1;
    holds = holds_precondition(request, err);
    if (holds <= 0)
        return holds;
    if (set_pairs(request, &pairs, true, err) < 0)
        return -1;
    answer_pairs(request, &pairs);
    return 0;
}

int metadata_remove_key(struct request *request, struct error *err) {
    return metadata_of(request)->remove(&request->work, request->object, request->key, err);
}

bool metadata_route_works(const struct route *route) {
    static route_handler *const handlers[] = { metadata_show,    metadata_add,
                                               metadata_replace, metadata_show_key,
                                               metadata_set_key, metadata_remove_key };
    const struct resource_metadata *metadata = route->resource ? route->resource->metadata : NULL;

    for (size_t i = 0; i < LENGTH(handlers); i++)
        if (route->handler == handlers[i])
            return metadata && metadata->rows && metadata->set && metadata->remove;
    return true;
}
