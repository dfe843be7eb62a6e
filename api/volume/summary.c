#include "api/volume/summary.h"

#include "rest/answer.h"

#include "model/volume/summary.h"

#include <string.h>

/* The numbers and, in a later version, each key with all its values. */
struct whole {
    struct summary volumes;
    struct pairs metadata;
};

static void put_values_by_key(struct request *request, const void *row) {
    const struct whole *whole = row;
    const struct pairs *pairs = &whole->metadata;
    struct json_out *out = &request->out;
    const char *key = NULL;

    out_begin_object(out);
    for (unsigned i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];

        if (!key || strcmp(key, pair->key) != 0) {
            if (key)
                out_end_array(out);
            key = pair->key;
            out_key_text(out, key);
            out_begin_array(out);
        }
        out_text(out, pair->value);
    }
    if (key)
        out_end_array(out);
    out_end_object(out);
}

static const struct shape_key values_keys[] = { SHAPE_ELSE(LIST, 0), SHAPES_END };
static const struct shape values_shape = { NULL, values_keys };

static const struct shape_key summary_keys[] = {
    SHAPE(struct whole, volumes.count, "total_count", INT),
    SHAPE(struct whole, volumes.size_gb, "total_size", INT),
    SHAPE_BY(put_values_by_key, "metadata", OBJECT, .of = &values_shape,
             .since = MV_SUMMARY_METADATA),
    SHAPES_END,
};
const struct shape volume_summary_shape = { NULL, summary_keys };

int volume_summary_show(struct request *request, struct error *err) {
    struct whole whole = { 0 };
    bool all = false;

    /* The metadata first: their limit refuses a request before all its volumes are counted. */
    if (request_flag(request, "all_tenants", &all, err) < 0 ||
        (request->minor >= MV_SUMMARY_METADATA &&
         summary_metadata(&request->work, all, &whole.metadata, err) < 0) ||
        summary_volumes(&request->work, all, &whole.volumes, err) < 0)
        return -1;
    answer_row(request, &whole, 0);
    return 0;
}
