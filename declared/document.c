#include "declared/document.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "declared/name.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MOST      64
#define ANNOTATIONS_MOST 64
#define NAME_MOST        253

/* ---- parsing ---- */

/* clang-format off */
static const struct schema_field metadata_fields[] = {
    { "name", SCHEMA_TEXT, .min = 1, .max = NAME_MOST, .allows = name_is_subdomain,
      .about = "a name of lower-case letters, digits, '-' and '.'" },
    { "labels", SCHEMA_MAP, .initial = "{}", .allows = name_is_qualified,
      .about = "a name of letters, digits, '-', '_' and '.', with a domain and '/' before it or not" },
    { "annotations", SCHEMA_MAP, .initial = "{}", .allows = name_is_qualified,
      .about = "a name of letters, digits, '-', '_' and '.', with a domain and '/' before it or not" },
    { "finalizers", SCHEMA_LIST, .initial = "[]", .max = FINALIZERS_MOST,
      .about = "Work that must be completed before it is deleted." },
    { "resourceVersion", SCHEMA_DIGITS, .about = "Of the document as it was read." },
    { "uid", SCHEMA_TEXT, .about = "Of the document as it was read." },
    { "namespace", SCHEMA_TEXT, SCHEMA_READ_ONLY, .about = "The project." },
    { "creationTimestamp", SCHEMA_TEXT, SCHEMA_READ_ONLY, .about = "When it was created." },
    { "deletionTimestamp", SCHEMA_TEXT, SCHEMA_READ_ONLY, .about = "When it was deleted." },
    { "generation", SCHEMA_INT, SCHEMA_READ_ONLY, .about = "Rises with each change of the desired state." },
    { "ownerReferences", SCHEMA_LIST, SCHEMA_READ_ONLY, .about = "Its owner." },
    { "managedFields", SCHEMA_LIST, SCHEMA_READ_ONLY, .about = "Ignored." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static int check_constant(const json_t *given, const char *key, const char *wanted,
                          struct error *err) {
    const json_t *value = json_object_get(given, key);

    if (!value || (json_is_string(value) && strcmp(json_string_value(value), wanted) == 0))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "%s must be %s.", key, wanted);
}

static int check_metadata(const json_t *metadata, struct error *err) {
    const json_t *finalizers = json_object_get(metadata, "finalizers");
    const json_t *labels = json_object_get(metadata, "labels");
    const char *name;
    json_t *value;

    if (json_object_size(labels) > LABELS_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "metadata.labels: at most %d are allowed.",
                         LABELS_MOST);
    if (json_object_size(json_object_get(metadata, "annotations")) > ANNOTATIONS_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "metadata.annotations: at most %d are allowed.",
                         ANNOTATIONS_MOST);
    json_object_foreach((json_t *)(uintptr_t)labels, name, value) {
        if (!name_is_label_value(json_string_value(value)))
            return error_set(
                err, ERROR_BAD_REQUEST,
                "metadata.labels.%s: the value must have at most 63 letters, digits, '-', '_' and '.'.",
                name);
    }
    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        const char *text = json_string_value(json_array_get(finalizers, i));

        if (!text || strlen(text) > NAME_MOST || !name_is_qualified(text))
            return error_set(err, ERROR_BAD_REQUEST,
                             "metadata.finalizers[%zu] is not a valid name.", i);
    }
    return 0;
}

int document_read(struct arena *arena, const struct document_kind *kind,
                  const struct document *before, const json_t *given, struct document_form *ret,
                  struct error *err) {
    json_t *body = json_keep(arena, json_deep_copy(given));
    json_t *metadata = json_keep(arena, json_incref(json_object_get(body, "metadata")));
    const char *version;

    if (!json_is_object(body))
        return error_set(err, ERROR_BAD_REQUEST, "A document must be an object.");
    *ret = (struct document_form){ .body = body };
    if (check_constant(body, "apiVersion", DOCUMENT_API_VERSION, err) < 0 ||
        check_constant(body, "kind", kind->name, err) < 0)
        return -1;
    if (!json_is_object(metadata))
        return error_set(err, ERROR_BAD_REQUEST, "metadata is missing, or not an object.");
    if (schema_accept(arena, metadata_fields, "metadata", metadata, err) < 0 ||
        check_metadata(metadata, err) < 0)
        return -1;
    version = json_text_of(metadata, "resourceVersion");
    ret->name = json_text_of(metadata, "name");
    ret->id = json_text_of(metadata, "uid");
    ret->version = version ? strtoll(version, NULL, 10) : 0;
    ret->labels = json_object_get(metadata, "labels");
    ret->annotations = json_object_get(metadata, "annotations");
    ret->finalizers = json_object_get(metadata, "finalizers");
    json_object_del(body, "apiVersion");
    json_object_del(body, "kind");
    json_object_del(body, "metadata");
    if (before)
        schema_keep(kind->fields, before->body, body);
    if (schema_accept(arena, kind->fields, "", body, err) < 0)
        return -1;
    if (before)
        schema_keep_read_only(kind->fields, before->body, body);
    return 0;
}

/* ---- writing ---- */

const char *document_time(struct arena *arena, int64_t instant_us) {
    char text[CLOCK_TEXT_SIZE];

    return arena_format(arena, "%.19sZ", clock_text(instant_us, text));
}

static void put_time(struct arena *arena, json_t *object, const char *key, int64_t instant_us) {
    if (instant_us)
        json_object_set_new(object, key, json_string(document_time(arena, instant_us)));
}

json_t *document_metadata(struct arena *arena, const struct document *document) {
    json_t *metadata = json_keep(arena, json_object());

    json_object_set_new(metadata, "name", json_string(document->name));
    json_object_set_new(metadata, "namespace", json_string(document->project_id));
    json_object_set_new(metadata, "uid", json_string(document->id));
    json_object_set_new(metadata, "resourceVersion", json_sprintf("%" PRId64, document->version));
    json_object_set_new(metadata, "generation", json_integer(document->generation));
    put_time(arena, metadata, "creationTimestamp", document->created_at);
    put_time(arena, metadata, "deletionTimestamp", document->deleted_at);
    json_object_set(metadata, "labels", document->labels);
    json_object_set(metadata, "annotations", document->annotations);
    json_object_set(metadata, "finalizers", document->finalizers);
    return metadata;
}

json_t *document_json(struct arena *arena, const struct document *document) {
    json_t *whole = json_keep(arena, json_object());

    json_object_set_new(whole, "apiVersion", json_string(DOCUMENT_API_VERSION));
    json_object_set_new(whole, "kind", json_string(document->kind->name));
    json_object_set(whole, "metadata", document_metadata(arena, document));
    json_object_update(whole, document->body);
    json_object_set(whole, "status", document->status);
    return whole;
}

/* Hides the names of pools in the status of clients' documents. */
static json_t *without_pools(struct arena *arena, json_t *status) {
    static const char *const lists[] = { "poolInfo", "pendingPoolInfo" };
    json_t *shown = status;

    if (json_object_get(status, "replacedPools")) {
        shown = json_keep(arena, json_copy(status));
        json_object_del(shown, "replacedPools");
    }
    for (size_t i = 0; i < LENGTH(lists); i++) {
        size_t count = json_array_size(json_object_get(status, lists[i]));
        json_t *list = count > 0 ? json_array() : NULL;

        if (!list)
            continue;
        while (count-- > 0)
            json_array_append_new(list, json_string(""));
        if (shown == status)
            shown = json_keep(arena, json_copy(status));
        json_object_set_new(shown, lists[i], list);
    }
    return shown;
}

const char *document_name_shown(const struct document *document, bool for_admin) {
    return !for_admin && document->kind->is_name_admin_only ? document->id : document->name;
}

json_t *document_body_shown(struct arena *arena, const struct document *document, bool for_admin) {
    const struct schema_field *fields = document->kind->fields;

    if (for_admin || !document->kind->read_only || !fields || !document->body)
        return document->body;
    return schema_shown(arena, fields, document->body);
}

json_t *document_status_shown(struct arena *arena, const struct document *document,
                              bool for_admin) {
    const struct schema_field *fields = document->kind->status_fields;

    if (for_admin || !document->status)
        return document->status;
    if (!document->kind->read_only)
        return without_pools(arena, document->status);
    return fields ? schema_shown(arena, fields, document->status) : document->status;
}
