#include "rest/shape.h"

#include "common/assert.h"
#include "rest/request.h"
#include "rest/view_pairs.h"

static const struct shape_key pairs_keys[] = { SHAPE_ELSE(TEXT, SHAPE_NULLABLE), SHAPES_END };
const struct shape shape_pairs = { NULL, pairs_keys };

static const struct shape_key any_keys[] = { SHAPE_ELSE(ANY, 0), SHAPES_END };
const struct shape shape_any = { NULL, any_keys };

static const struct shape_key link_keys[] = {
    { SHAPE_KEY("rel", TEXT) },
    { SHAPE_KEY("href", TEXT) },
    SHAPES_END,
};
const struct shape shape_link = { "link", link_keys };

void shape_no_items(struct request *request, const void *row) {
    (void)row;
    out_begin_array(&request->out);
    out_end_array(&request->out);
}

static void put_member(struct json_out *out, enum shape_type type, const void *member) {
    switch (type) {
    case SHAPE_TEXT:
        out_text(out, *(const char *const *)member);
        break;
    case SHAPE_INT:
        out_int(out, *(const int64_t *)member);
        break;
    case SHAPE_BOOL:
        out_bool(out, *(const bool *)member);
        break;
    case SHAPE_TIME:
        out_time(out, *(const int64_t *)member);
        break;
    case SHAPE_PAIRS:
        view_pairs(out, member);
        break;
    case SHAPE_NULL:
        out_null(out);
        break;
    default:
        assert(type == SHAPE_NULL); /* the others have a put() */
    }
}

void shape_put(struct request *request, const struct shape *shape, const void *row,
               unsigned rights) {
    struct json_out *out = &request->out;
    const unsigned minor = request->minor;

    request->rights = rights;
    out_begin_object(out);
    for (const struct shape_key *key = shape->keys; key->name; key++) {
        if (key->since > minor || (key->rights & ~rights) != 0 || (key->has && !key->has(row)))
            continue;
        if (key->length > 0)
            out_key_ready(out, key->text, key->length);
        if (key->put)
            key->put(request, row);
        else
            put_member(out, key->type, (const char *)row + key->offset);
    }
    out_end_object(out);
}
