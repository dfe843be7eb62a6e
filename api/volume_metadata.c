#include "api/volume_metadata.h"

#include "api/view.h"
#include "common/md5.h"
#include "ledger/pairs.h"

#include <string.h>

#define STATUS_PRECONDITION_FAILED 412

const struct field volume_metadata_fields[] = {
    FIELD_META(struct metadata_body, pairs, "metadata", FIELD_REQUIRED),
    FIELDS_END,
};

const struct field volume_meta_fields[] = {
    FIELD_META(struct metadata_body, pairs, "meta", FIELD_REQUIRED),
    FIELDS_END,
};

int volume_metadata_check(const struct pairs *pairs, struct error *err) {
    for (unsigned i = 0; i < pairs->count; i++)
        if (view_reserves_key(pairs->items[i].key))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid metadata: the key %s is reserved for the service.",
                             pairs->items[i].key);
    return 0;
}

static void put_answer(struct json_out *out, const char *word, const struct pairs *pairs) {
    out_begin_object(out);
    out_key_text(out, word);
    view_pairs(out, pairs);
    out_end_object(out);
}

static int load(struct request *request, struct error *err) {
    return pair_rows_get(&request->work, &metadata_rows, request->volume.id,
                         &request->volume.metadata, err);
}

static const char *etag_of(struct request *request) {
    char etag[MD5_HEX_SIZE];
    struct json_out out;

    json_out_init(&out, request->work.arena, 256);
    put_answer(&out, "metadata", &request->volume.metadata);
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

/* 0 with the answer set: somebody has changed the metadata since the client read them. */
static int holds_precondition(struct request *request, struct error *err) {
    const char *tags = request->minor >= MV_ETAGS ? http_header(request->http, "If-Match") : NULL;

    if (!tags)
        return 1;
    if (load(request, err) < 0)
        return -1;
    if (is_among_tags(tags, etag_of(request)))
        return 1;
    request->status = STATUS_PRECONDITION_FAILED;
    return 0;
}

static int set_and_answer(struct request *request, bool merge, struct error *err) {
    const struct metadata_body *body = request->body;
    struct pairs pairs = request_pairs(request, body->pairs);

    if (volume_metadata_check(&pairs, err) < 0 ||
        volume_metadata_set(&request->work, &request->volume, &pairs, merge, err) < 0 ||
        load(request, err) < 0)
        return -1;
    put_answer(&request->out, "metadata", &request->volume.metadata);
    return 0;
}

int volume_metadata_show(struct request *request, struct error *err) {
    if (load(request, err) < 0)
        return -1;
    if (request->minor >= MV_ETAGS)
        request_header(request, "Etag", etag_of(request));
    put_answer(&request->out, "metadata", &request->volume.metadata);
    return 0;
}

int volume_metadata_add(struct request *request, struct error *err) {
    return set_and_answer(request, true, err);
}

int volume_metadata_replace(struct request *request, struct error *err) {
    int holds = holds_precondition(request, err);

    return holds > 0 ? set_and_answer(request, false, err) : holds;
}

int volume_metadata_show_key(struct request *request, struct error *err) {
    struct pair pair = { .key = request->key };
    int found =
        volume_metadata_get(&request->work, request->volume.id, request->key, &pair.value, err);

    if (error_if_none(found, err, ERROR_NOT_FOUND, "Volume %s has no metadata with key %s.",
                      request->volume.id, request->key) < 0)
        return -1;
    put_answer(&request->out, "meta", &(struct pairs){ &pair, 1 });
    return 0;
}

int volume_metadata_set_key(struct request *request, struct error *err) {
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
    if (volume_metadata_check(&pairs, err) < 0)
        return -1;
    holds = holds_precondition(request, err);
    if (holds <= 0)
        return holds;
    if (volume_metadata_set(&request->work, &request->volume, &pairs, true, err) < 0)
        return -1;
    put_answer(&request->out, "meta", &pairs);
    return 0;
}

int volume_metadata_remove_key(struct request *request, struct error *err) {
    return volume_metadata_delete(&request->work, &request->volume, request->key, err);
}
