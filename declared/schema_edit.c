/*
 * Edits: fields that stay when omitted, and changes that are refused.
 */
#include "declared/schema.h"

#include "common/assert.h"
#include "common/quantity.h"
#include "json/json.h"

/* ---- fields that stay ---- */

/* Applies `keep` below the field. */
static void keep_below(const struct schema_field *field, const json_t *before, json_t *given,
                       void (*keep)(const struct schema_field *fields, const json_t *before,
                                    json_t *given)) {
    json_t *old = json_object_get(before, field->name);
    json_t *new = json_object_get(given, field->name);

    if (old && new && field->type == SCHEMA_OBJECT && field->of)
        keep(field->of, old, new);
}

static void put_copy(json_t *into, const char *name, const json_t *value) {
    if (value)
        json_object_set_new(into, name, json_deep_copy(value));
}

static bool same_quantity(const json_t *a, const json_t *b) {
    int64_t one, other;

    return json_is_string(a) && json_is_string(b) && quantity_read(json_string_value(a), &one) &&
           quantity_read(json_string_value(b), &other) && one == other;
}

/* Another spelling of the same quantity is no edit. */
static void keep_spelling(const struct schema_field *field, const json_t *before, json_t *given) {
    json_t *old = json_object_get(before, field->name), *new = json_object_get(given, field->name);
    const char *key;
    json_t *value;

    if (field->type == SCHEMA_QUANTITY && same_quantity(old, new))
        json_object_set(given, field->name, old);
    if (field->type == SCHEMA_QUANTITIES)
        json_object_foreach(old, key, value) {
            if (same_quantity(value, json_object_get(new, key)))
                json_object_set(new, key, value);
        }
}

void schema_keep(const struct schema_field *fields, const json_t *before, json_t *given) {
    for (; fields->type != SCHEMA_END; fields++) {
        const json_t *value;

        keep_spelling(fields, before, given);
        value = json_object_get(given, fields->name);

        if ((!value || json_is_null(value)) && (fields->flags & (SCHEMA_FIXED | SCHEMA_KEPT)))
            put_copy(given, fields->name, json_object_get(before, fields->name));
        else if (!value || json_is_null(value)) {
            /* The object is omitted: fixed fields below it stay. */
            json_t *kept = json_object();

            if (fields->type == SCHEMA_OBJECT && fields->of && !(fields->flags & SCHEMA_REQUIRED))
                schema_keep(fields->of, json_object_get(before, fields->name), kept);
            if (json_object_size(kept) > 0)
                json_object_set(given, fields->name, kept);
            json_decref(kept);
        } else
            keep_below(fields, before, given, schema_keep);
    }
}

void schema_keep_read_only(const struct schema_field *fields, const json_t *before, json_t *after) {
    for (; fields->type != SCHEMA_END; fields++)
        if (fields->flags & SCHEMA_READ_ONLY)
            put_copy(after, fields->name, json_object_get(before, fields->name));
        else
            keep_below(fields, before, after, schema_keep_read_only);
}

/* ---- permitted changes ---- */

static const char *show_value(struct arena *arena, const json_t *value) {
    if (!value)
        return "nothing";
    return json_is_string(value) ? json_string_value(value) : json_text(arena, value);
}

/* 0 without one; -1 of a stored document that holds no quantity there. */
static int64_t quantity_of(const json_t *value) {
    int64_t bytes = 0;

    if (value && !(json_is_string(value) && quantity_read(json_string_value(value), &bytes)))
        return -1;
    return bytes;
}

int schema_compare(struct arena *arena, const struct schema_field *fields, const char *path,
                   const json_t *before, const json_t *after, struct error *err) {
    for (; fields->type != SCHEMA_END; fields++) {
        const char *below = schema_path(arena, path, fields->name);
        const json_t *old = json_object_get(before, fields->name);
        const json_t *now = json_object_get(after, fields->name);
        bool is_same = fields->type == SCHEMA_QUANTITY && old && now
                           ? quantity_of(old) == quantity_of(now)
                           : (!old && !now) || (old && now && json_equal(old, now));

        if ((fields->flags & SCHEMA_FIXED) && !is_same)
            return error_set(err, ERROR_BAD_REQUEST, "%s cannot be changed: it is %s.", below,
                             show_value(arena, old));
        if ((fields->flags & SCHEMA_GROWS) && quantity_of(now) < quantity_of(old))
            return error_set(err, ERROR_BAD_REQUEST, "%s can only grow: it is %s.", below,
                             show_value(arena, old));
        if ((fields->flags & SCHEMA_KEPT) && !old)
            continue; /* its first value */
        if (fields->type == SCHEMA_OBJECT && fields->of &&
            schema_compare(arena, fields->of, below, old, now, err) < 0)
            return -1;
    }
    return 0;
}
