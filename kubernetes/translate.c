#include "kubernetes/translate.h"

#include "common/cleanup.h"
#include "json/json.h"

#include <string.h>

#define POLICY   "openebs.io/volume-policy" /* the policy of a config */
#define SOURCE   "openebs.io/source-volume" /* the source config of a clone */
#define DOMAIN   "openebs.io/"
#define OWN      "scoria.io/" /* prefix of annotations and labels that link documents to objects */
#define APPLIED  "Applied"
#define SNAPSHOT "CStorVolumeSnapshot"

#define LABEL_MOST 63

static json_t *copy_of(struct arena *arena, const json_t *tree) {
    return json_keep(arena, json_deep_copy(tree));
}

/* The member that is an object, created if missing. */
static json_t *object_in(json_t *into, const char *key) {
    json_t *found = json_object_get(into, key);

    if (!json_is_object(found)) {
        found = json_object();
        json_object_set_new(into, key, found);
    }
    return found;
}

static void set(json_t *into, const char *key, json_t *value) {
    if (value)
        json_object_set(into, key, value);
}

/* ---- metadata ---- */

const char *object_text(const json_t *object, const char *key) {
    const char *text = json_text_of(json_object_get(object, "metadata"), key);

    return text ? text : "";
}

static json_t *finalizers_but_ours(struct arena *arena, const json_t *object, bool *ret_had) {
    const json_t *list = json_at(object, "metadata.finalizers");
    json_t *rest = json_keep(arena, json_array());

    *ret_had = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (name && strcmp(name, TRANSLATE_FINALIZER) == 0)
            *ret_had = true;
        else
            json_array_append(rest, json_array_get(list, i));
    }
    return rest;
}

bool object_has_finalizer(const json_t *object) {
    autoarena struct arena *arena = arena_new();
    bool has;

    finalizers_but_ours(arena, object, &has);
    return has;
}

json_t *object_with_finalizer(struct arena *arena, const json_t *object, bool wanted) {
    json_t *whole = copy_of(arena, object);
    bool had;
    json_t *finalizers = finalizers_but_ours(arena, object, &had);

    if (wanted)
        json_array_append_new(finalizers, json_string(TRANSLATE_FINALIZER));
    json_object_set(object_in(whole, "metadata"), "finalizers", finalizers);
    return whole;
}

const char *translate_name(struct arena *arena, const char *namespace, const char *name) {
    return arena_join(arena, namespace, ".", name, NULL);
}

bool translate_belongs(const json_t *document, const json_t *object) {
    const char *uid = json_text_of(json_at(document, "metadata.annotations"), TRANSLATE_UID);

    return uid && strcmp(uid, object_text(object, "uid")) == 0;
}

/* ---- to the volume API ---- */

/* "openebs.io/x", "cas.openebs.io/x" */
static bool is_of(const char *domain, const char *key) {
    const char *found = strstr(key, domain);

    return found && !strchr(found + strlen(domain), '/') && (found == key || found[-1] == '.');
}

/* Annotations of other programs are not copied; a policy is in the same namespace. */
static json_t *annotations_for(struct arena *arena, const json_t *object) {
    json_t *annotations = json_keep(arena, json_object());
    const json_t *given = json_at(object, "metadata.annotations");
    const char *namespace = object_text(object, "namespace"), *key, *policy;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)given, key, value) {
        if (is_of(DOMAIN, key))
            json_object_set(annotations, key, value);
    }
    policy = json_text_of(given, POLICY);
    if (!policy)
        policy = json_text_of(json_at(object, "metadata.labels"), POLICY);
    if (policy)
        json_object_set_new(annotations, POLICY,
                            json_string(translate_name(arena, namespace, policy)));
    json_object_set_new(annotations, TRANSLATE_UID, json_string(object_text(object, "uid")));
    return annotations;
}

/* A clone of another namespace does not retain its source.  An annotation has space for the longer
 * name of a policy. */
static json_t *labels_for(struct arena *arena, const json_t *object) {
    json_t *labels = json_keep(arena, json_object());
    const json_t *given = json_at(object, "metadata.labels");
    const char *source = json_text_at(object, "spec.cstorVolumeSource"), *key;
    json_t *value;

    /* a clone has the label even if its object does not */
    source = source ? arena_format(arena, "%.*s", (int)strcspn(source, "@"), source)
                    : json_text_of(given, SOURCE);
    json_object_foreach((json_t *)(uintptr_t)given, key, value) {
        if (!is_of(OWN, key))
            json_object_set(labels, key, value);
    }
    json_object_del(labels, POLICY);
    json_object_del(labels, SOURCE);
    source = source ? translate_name(arena, object_text(object, "namespace"), source) : NULL;
    if (source && strlen(source) <= LABEL_MOST)
        json_object_set_new(labels, SOURCE, json_string(source));
    return labels;
}

/* "volume@snapshot": both are in the namespace.  An existing clone may have a source snapshot that
 * was created with its own name. */
static const char *source_for(struct arena *arena, const char *namespace, const char *source,
                              const json_t *ours) {
    const char *has = json_text_at(ours, "spec.cstorVolumeSource");
    const char *short_name = translate_name(arena, namespace, source), *at = strchr(source, '@');

    if (!at || (has && strcmp(has, short_name) == 0))
        return short_name;
    return arena_format(arena, "%s.%.*s@%s.%s", namespace, (int)(at - source), source, namespace,
                        at + 1);
}

static json_t *spec_for(struct arena *arena, const json_t *object, const json_t *ours) {
    json_t *spec = copy_of(arena, json_object_get(object, "spec"));
    const char *namespace = object_text(object, "namespace");
    const char *source = json_text_of(spec, "cstorVolumeSource");
    const char *volume = json_text_of(spec, "volumeName"); /* a snapshot's */
    const char *snapshot = json_text_at(spec, "revert.snapshotName");

    if (source)
        json_object_set_new(spec, "cstorVolumeSource",
                            json_string(source_for(arena, namespace, source, ours)));
    if (snapshot)
        json_object_set_new(json_object_get(spec, "revert"), "snapshotName",
                            json_string(translate_name(arena, namespace, snapshot)));
    if (volume)
        json_object_set_new(spec, "volumeName",
                            json_string(translate_name(arena, namespace, volume)));
    return spec;
}

json_t *translate_document(struct arena *arena, const json_t *object, const json_t *ours) {
    json_t *whole = json_keep(arena, json_object()), *metadata = object_in(whole, "metadata");
    bool publishes = json_is_string(json_at(object, "publish.nodeId"));

    set(whole, "apiVersion", json_object_get(object, "apiVersion"));
    set(whole, "kind", json_object_get(object, "kind"));
    json_object_set_new(metadata, "name",
                        json_string(translate_name(arena, object_text(object, "namespace"),
                                                   object_text(object, "name"))));
    json_object_set(metadata, "labels", labels_for(arena, object));
    json_object_set(metadata, "annotations", annotations_for(arena, object));
    set(metadata, "uid", json_at(ours, "metadata.uid"));
    set(metadata, "resourceVersion", json_at(ours, "metadata.resourceVersion"));
    set(metadata, "finalizers", json_at(ours, "metadata.finalizers"));
    json_object_set(whole, "spec", spec_for(arena, object, ours));
    set(whole, "publish", json_object_get(publishes ? object : ours, "publish"));
    set(whole, "versionDetails", json_object_get(object, "versionDetails"));
    return whole;
}

/* ---- documents of the volume API ---- */

static bool covers(const json_t *has, const json_t *sent) {
    const char *key;
    json_t *value;
    char text[32];

    if (json_is_object(sent)) {
        json_object_foreach((json_t *)(uintptr_t)sent, key, value) {
            if (!covers(json_object_get(has, key), value))
                return false;
        }
        return json_is_object(has);
    }
    if (json_is_array(sent)) {
        if (!json_is_array(has) || json_array_size(has) != json_array_size(sent))
            return false;
        for (size_t i = 0; i < json_array_size(sent); i++)
            if (!covers(json_array_get(has, i), json_array_get(sent, i)))
                return false;
        return true;
    }
    /* a quantity is accepted in both forms: number and text */
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(sent));
    return json_equal(has, sent) || (json_is_integer(sent) && json_is_string(has) &&
                                     strcmp(json_string_value(has), text) == 0);
}

/* The service sets the reference to the volume. */
bool translate_is_sent(const json_t *ours, const json_t *sent) {
    json_t *spec = json_deep_copy(json_object_get(sent, "spec"));
    const json_t *publish = json_object_get(sent, "publish");
    const json_t *details = json_object_get(sent, "versionDetails");
    bool covered;

    json_object_del(spec, "cstorVolumeRef");
    covered =
        json_equal(json_at(ours, "metadata.labels"), json_at(sent, "metadata.labels")) &&
        json_equal(json_at(ours, "metadata.annotations"), json_at(sent, "metadata.annotations")) &&
        covers(json_object_get(ours, "spec"), spec) &&
        (!publish || covers(json_object_get(ours, "publish"), publish)) &&
        (!details || covers(json_object_get(ours, "versionDetails"), details));
    json_decref(spec);
    return covered;
}

/* ---- back to the cluster ---- */

static const json_t *condition_of(const json_t *conditions, const char *type) {
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *has = json_text_of(condition, "type");

        if (has && strcmp(has, type) == 0)
            return condition;
    }
    return NULL;
}

bool translate_was_bound(const json_t *object) {
    return json_at(object, "spec.cstorVolumeRef") != NULL;
}

bool translate_was_taken(const json_t *object) {
    const char *kind = json_text_of(object, "kind");

    return kind && strcmp(kind, SNAPSHOT) == 0 && json_at(object, "status.creationTime");
}

bool translate_is_applied(const json_t *object) {
    const char *applied =
        json_text_of(condition_of(json_at(object, "status.conditions"), APPLIED), "status");

    return json_equal(json_at(object, "status.observedGeneration"),
                      json_at(object, "metadata.generation")) &&
           applied && strcmp(applied, "True") == 0;
}

/* An unchanged condition keeps its times. */
static json_t *applied(const json_t *before, const struct verdict *verdict, const char *now) {
    const char *status = json_text_of(before, "status");
    bool same = status && strcmp(status, verdict->status) == 0;
    const char *since = same ? json_text_of(before, "lastTransitionTime") : NULL;

    return json_pack("{ss ss ss ss ss}", "type", APPLIED, "status", verdict->status, "reason",
                     verdict->reason, "message", verdict->message, "lastTransitionTime",
                     since ? since : now);
}

json_t *translate_status(struct arena *arena, const json_t *object, const json_t *ours,
                         const struct verdict *verdict, const char *now) {
    const json_t *before = json_object_get(object, "status");
    json_t *status = copy_of(arena, json_object_get(ours ? ours : object, "status"));
    const json_t *theirs = ours ? json_object_get(status, "conditions") : NULL;
    json_t *conditions = json_keep(arena, json_array());

    if (!status)
        status = json_keep(arena, json_object());
    for (size_t i = 0; i < json_array_size(theirs); i++)
        json_array_append(conditions, json_array_get(theirs, i));
    json_array_append_new(
        conditions,
        applied(condition_of(json_object_get(before, "conditions"), APPLIED), verdict, now));
    json_object_set(status, "conditions", conditions);
    set(status, "observedGeneration", json_at(object, "metadata.generation"));
    return status;
}

json_t *translate_spec_back(struct arena *arena, const json_t *object, const json_t *ours) {
    json_t *whole = copy_of(arena, object), *spec = object_in(whole, "spec");
    const json_t *has = json_object_get(ours, "spec");
    json_t *reference = json_object_get(has, "cstorVolumeRef");
    json_t *policy = json_object_get(has, "policy"), *first = json_at(has, "provision.capacity");

    set(spec, "cstorVolumeRef", reference);
    if (!json_object_get(spec, "policy"))
        set(spec, "policy", policy);
    if (first && json_is_object(json_object_get(spec, "provision")) &&
        !json_at(spec, "provision.capacity"))
        json_object_set(json_object_get(spec, "provision"), "capacity", first);
    return json_equal(whole, object) ? NULL : whole;
}
