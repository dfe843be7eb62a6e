#include "api/type/view.h"

#include "common/cleanup.h"
#include "common/words.h"

bool type_view_sees_all(struct request *request) {
    return request_allows(request, "volume_extension:types_extra_specs:read_sensitive", NULL);
}

unsigned type_view_rights(struct request *request, bool with_access) {
    static const struct {
        const char *rule;
        unsigned right;
    } rules[] = {
        { "volume_extension:access_types_extra_specs", TYPE_SEES_SPECS },
        { "volume_extension:types_extra_specs:read_sensitive", TYPE_SEES_ALL_SPECS },
        { "volume_extension:access_types_qos_specs_id", TYPE_SEES_QOS },
        { "volume_extension:volume_type_access", TYPE_SEES_ACCESS },
    };
    unsigned rights = 0;

    for (size_t i = 0; i < LENGTH(rules); i++)
        if ((with_access || rules[i].right != TYPE_SEES_ACCESS) &&
            request_allows(request, rules[i].rule, NULL))
            rights |= rules[i].right;
    return rights;
}

/* Extra specs that a user needs to choose a type; every other one is about the backends. */
bool type_view_shows_spec(const char *key) {
    static const char *const keys[] = { TYPE_SPEC_ZONES, "multiattach", "replication_enabled" };

    return words_have(keys, LENGTH(keys), key);
}

static void put_specs(struct request *request, const void *row) {
    const struct pairs *specs = &((const struct volume_type *)row)->extra_specs;
    struct json_out *out = &request->out;

    out_begin_object(out);
    for (unsigned i = 0; i < specs->count; i++)
        if ((request->rights & TYPE_SEES_ALL_SPECS) || type_view_shows_spec(specs->items[i].key)) {
            out_key_text(out, specs->items[i].key);
            out_text(out, specs->items[i].value);
        }
    out_end_object(out);
}

/* clang-format off */
#define TYPE(member, ...) SHAPE(struct volume_type, member, __VA_ARGS__)

static const struct shape_key keys[] = {
    TYPE(id,             "id",           TEXT),
    TYPE(name,           "name",         TEXT),
    TYPE(is_public,      "is_public",    BOOL),
    TYPE(description,    "description",  TEXT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_specs,  "extra_specs",  PAIRS, .rights = TYPE_SEES_SPECS),
    TYPE(qos_specs_id,   "qos_specs_id", TEXT, .flags = SHAPE_NULLABLE, .rights = TYPE_SEES_QOS),
    TYPE(is_public,      "os-volume-type-access:is_public", BOOL, .rights = TYPE_SEES_ACCESS),
    SHAPES_END,
};
/* clang-format on */
const struct shape type_shape = { "volume_type", keys };
