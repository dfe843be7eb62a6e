#include "declared/document_edit.h"

#include "declared/document_quota.h"
#include "declared/document_store.private.h"
#include "json/json.h"

#include <string.h>

/* ---- create ---- */

static int check_limits(struct work *work, const struct document_kind *kind, const char *name,
                        struct error *err) {
    const char *project_id = work->context->project_id;
    int64_t count;
    int taken = db_query_int(work->tx, &count, err,
                             "SELECT 1 FROM documents "
                             "WHERE kind = $1 AND project_id = $2 AND name = $3",
                             DB_TEXT(kind->name), DB_TEXT(project_id), DB_TEXT(name));

    if (taken > 0)
        return error_set(err, ERROR_CONFLICT, "%s %s already exists.", kind->label, name);
    if (taken < 0 || document_count(work, kind, &count, err) < 0)
        return -1;
    if (count >= DOCUMENTS_MOST)
        return error_set(err, ERROR_OVER_QUOTA, "The project has %d documents of kind %s already.",
                         DOCUMENTS_MOST, kind->name);
    return 0;
}

/* The service's own finalizer is set by the service alone: a new document (NULL) has it, others
 * keep it or its absence. */
static int put_finalizers(struct work *work, const struct document *before, const json_t *given,
                          struct document *ret, struct error *err) {
    const char *own = ret->kind->finalizer;
    json_t *finalizers = json_keep(work->arena, json_array());

    if (own && (!before || json_list_has(before->finalizers, own)))
        json_array_append_new(finalizers, json_string(own));
    for (size_t i = 0; i < json_array_size(given); i++)
        if (!own || strcmp(json_string_value(json_array_get(given, i)), own) != 0)
            json_array_append(finalizers, json_array_get(given, i));
    if (json_array_size(finalizers) > FINALIZERS_MOST)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "metadata.finalizers: at most %d are allowed, including the service's own.",
            FINALIZERS_MOST);
    ret->finalizers = finalizers;
    return 0;
}

int document_create(struct work *work, const struct document_kind *kind, const json_t *given,
                    bool dry_run, struct document *ret, struct error *err) {
    struct document_form form;
    const char *end;

    if (work_check_project(work, "A document", err) < 0 ||
        document_read(work->arena, kind, NULL, given, &form, err) < 0)
        return -1;
    if (!form.name)
        return error_set(err, ERROR_BAD_REQUEST, "metadata.name is missing.");
    end = strrchr(form.name, '.');
    if (end && strcmp(end, ".json") == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "metadata.name: %s ends with .json, which paths of this API may omit.",
                         form.name);
    if (form.version || form.id)
        return error_set(err, ERROR_BAD_REQUEST, "metadata.%s cannot be given for a new document.",
                         form.version ? "resourceVersion" : "uid");
    *ret = (struct document){
        .kind = kind,
        .id = work_uuid(work),
        .project_id = work->context->project_id,
        .name = form.name,
        .generation = 1,
        .labels = form.labels,
        .annotations = form.annotations,
        .body = form.body,
        .status = json_keep(work->arena, json_loads(kind->initial_status, 0, NULL)),
        .created_at = work->now_us,
    };
    if (put_finalizers(work, NULL, form.finalizers, ret, err) < 0 ||
        (kind->check && kind->check(work, ret, err) < 0) ||
        check_limits(work, kind, form.name, err) < 0 ||
        document_check_bytes(work, NULL, ret, err) < 0)
        return -1;
    if (dry_run)
        return document_quota_check(work, NULL, ret, err);
    if (document_next_version(work, &ret->version, err) < 0)
        return -1;
    ret->first_version = ret->version;
    return document_insert(work, ret, err);
}

/* ---- edit ---- */

static bool is_same(const struct document *before, const struct document *after) {
    return json_equal(before->labels, after->labels) &&
           json_equal(before->annotations, after->annotations) &&
           json_equal(before->finalizers, after->finalizers) &&
           json_equal(before->body, after->body);
}

int document_replace(struct work *work, const struct document *before, const json_t *given,
                     bool dry_run, struct document *ret, struct error *err) {
    const struct document_kind *kind = before->kind;
    struct document_form form;

    if (document_read(work->arena, kind, before, given, &form, err) < 0)
        return -1;
    if (form.name && strcmp(form.name, before->name) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "metadata.name cannot be changed: it is %s.",
                         before->name);
    if (form.id && strcmp(form.id, before->id) != 0)
        return error_set(err, ERROR_CONFLICT, "metadata.uid: %s %s was deleted and created again.",
                         before->kind->label, before->name);
    if (form.version && form.version != before->version)
        return error_set(err, ERROR_CONFLICT,
                         "metadata.resourceVersion: %s %s was changed meanwhile; read it again.",
                         before->kind->label, before->name);
    if (schema_compare(work->arena, kind->fields, "", before->body, form.body, err) < 0)
        return -1;
    *ret = *before;
    ret->labels = form.labels;
    ret->annotations = form.annotations;
    ret->body = form.body;
    ret->status = json_keep(work->arena, json_deep_copy(before->status));
    if (put_finalizers(work, before, form.finalizers, ret, err) < 0)
        return -1;
    /* A document being deleted can change only in its finalizers, which can only be removed. */
    if (before->deleted_at != 0) {
        if (!json_equal(before->body, ret->body))
            return error_set(err, ERROR_CONFLICT, "%s %s is being deleted.", before->kind->label,
                             before->name);
        for (size_t i = 0; i < json_array_size(ret->finalizers); i++)
            if (!json_list_has(before->finalizers,
                               json_string_value(json_array_get(ret->finalizers, i))))
                return error_set(err, ERROR_CONFLICT,
                                 "metadata.finalizers: %s %s is being deleted; none can be added.",
                                 before->kind->label, before->name);
    }
    if (is_same(before, ret))
        return 0;
    if ((kind->check_edit && kind->check_edit(work, before, ret, err) < 0) ||
        document_check_bytes(work, before, ret, err) < 0)
        return -1;
    if (is_same(before, ret))
        return 0;
    ret->generation += json_equal(before->body, ret->body) ? 0 : 1;
    if (dry_run)
        return document_quota_check(work, before, ret, err);
    if (document_store(work, before, ret, err) < 0)
        return -1;
    return kind->follow_edit ? kind->follow_edit(work, before, ret, err) : 0;
}

/* A null without a counterpart stays; the schema decides later whether the field is known. */
static void merge(json_t *into, const json_t *patch) {
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_t *below = json_object_get(into, key);

        if (json_is_null(value) && below) {
            json_object_del(into, key);
        } else if (!json_is_object(value)) {
            json_object_set(into, key, value);
        } else {
            if (!json_is_object(below)) {
                below = json_object();
                json_object_set_new(into, key, below);
            }
            merge(below, value);
        }
    }
}

int document_patch(struct work *work, const struct document *before, const json_t *patch,
                   bool dry_run, struct document *ret, struct error *err) {
    json_t *whole = json_keep(work->arena, json_deep_copy(document_json(work->arena, before)));

    if (!json_is_object(patch))
        return error_set(err, ERROR_BAD_REQUEST, "A patch must be an object.");
    merge(whole, patch);
    return document_replace(work, before, whole, dry_run, ret, err);
}

/* ---- delete ---- */

int document_delete(struct work *work, const struct document *document, bool dry_run,
                    struct document *ret, struct error *err) {
    *ret = *document;
    if (document->deleted_at)
        return 0;
    if (document->kind->check_delete && document->kind->check_delete(work, document, err) < 0)
        return -1;
    ret->deleted_at = work->now_us;
    return dry_run ? 0 : document_store(work, document, ret, err);
}
