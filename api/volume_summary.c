#include "api/volume_summary.h"

#include "volume/summary.h"

#include <string.h>

static void put_values_by_key(struct json_out *out, const struct pairs *pairs) {
    const char *key = NULL;

    out_key(out, "metadata");
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

int volume_summary_show(struct request *request, struct error *err) {
    const char *asked = request_query(request, "all_tenants");
    struct json_out *out = &request->out;
    struct pairs metadata = { 0 };
    struct summary volumes;
    bool all = false;

    if (asked && !json_boolean_word(asked, true, &all))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid value for all_tenants: %s", asked);
    if (summary_volumes(&request->work, all, &volumes, err) < 0 ||
        (request->minor >= MV_SUMMARY_METADATA &&
         summary_metadata(&request->work, all, &metadata, err) < 0))
        return -1;
    out_begin_object(out);
    out_key(out, "volume-summary");
    out_begin_object(out);
    out_put_int(out, "total_count", volumes.count);
    out_put_int(out, "total_size", volumes.size_gb);
    if (request->minor >= MV_SUMMARY_METADATA)
        put_values_by_key(out, &metadata);
    out_end_object(out);
    out_end_object(out);
    return 0;
}
