#include "rest/view_pairs.h"

void view_pairs(struct json_out *out, const struct pairs *pairs) {
    out_begin_object(out);
    for (unsigned i = 0; i < pairs->count; i++) {
        out_key_text(out, pairs->items[i].key);
        out_text(out, pairs->items[i].value);
    }
    out_end_object(out);
}
