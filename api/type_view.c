#include "api/type_view.h"

#include "common/cleanup.h"
#include "common/words.h"

bool type_view_sees_all(struct request *request) {
    return request_allows(request, "volume_extension:types_extra_specs:read_sensitive", NULL);
}

struct type_view type_view_of(struct request *request, bool with_access) {
    return (struct type_view){
        .specs = request_allows(request, "volume_extension:access_types_extra_specs", NULL),
        .sensitive = type_view_sees_all(request),
        .qos = request_allows(request, "volume_extension:access_types_qos_specs_id", NULL),
        .access =
            with_access && request_allows(request, "volume_extension:volume_type_access", NULL),
    };
}

/* What a user needs to know to choose a type; every other extra spec tells about the backends. */
bool type_view_shows_spec(const char *key) {
    static const char *const keys[] = { TYPE_SPEC_ZONES, "multiattach", "replication_enabled" };

    return words_have(keys, LENGTH(keys), key);
}

void type_view_put_specs(struct json_out *out, const struct pairs *specs, bool sensitive) {
    out_begin_object(out);
    for (unsigned i = 0; i < specs->count; i++)
        if (sensitive || type_view_shows_spec(specs->items[i].key)) {
            out_key_text(out, specs->items[i].key);
            out_text(out, specs->items[i].value);
        }
    out_end_object(out);
}

void type_view_put(struct json_out *out, const struct type_view *view,
                   const struct volume_type *type) {
    out_begin_object(out);
    out_put_text(out, "id", type->id);
    out_put_text(out, "name", type->name);
    out_put_bool(out, "is_public", type->is_public);
    out_put_text(out, "description", type->description);
    if (view->specs) {
        out_key(out, "extra_specs");
        type_view_put_specs(out, &type->extra_specs, view->sensitive);
    }
    if (view->qos)
        out_put_text(out, "qos_specs_id", type->qos_specs_id);
    if (view->access)
        out_put_bool(out, "os-volume-type-access:is_public", type->is_public);
    out_end_object(out);
}

void type_view_answer(struct request *request, const struct type_view *view,
                      const struct volume_type *type) {
    out_begin_object(&request->out);
    out_key(&request->out, "volume_type");
    type_view_put(&request->out, view, type);
    out_end_object(&request->out);
}
