#include "kubernetes/sync.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/words.h"
#include "kubernetes/translate.h"
#include "json/json.h"

#include <string.h>

const struct sync_kind sync_kinds[] = {
    { "CStorVolumePolicy",
      "cstorvolumepolicies",
      { .collection = "volume_policies", .word = "volume_policy" } },
    { "CStorVolumeConfig",
      "cstorvolumeconfigs",
      { .collection = "volume_configs", .word = "volume_config" } },
    { "CStorVolumeSnapshot",
      "cstorvolumesnapshots",
      { .collection = "volume_config_snapshots", .word = "volume_config_snapshot" } },
    { .name = NULL },
};

/* The state of one synchronization; `object` is as read last. */
struct hand {
    const struct sync *sync;
    struct arena *arena;
    const char *path; /* of the object */
    const char *namespace, *object_name;
    const char *name; /* of the document */
    const json_t *object, *ours;
    struct verdict verdict;
};

const char *sync_path(struct arena *arena, const struct sync_kind *kind, const char *namespace,
                      const char *name) {
    return arena_join(arena, SYNC_API, namespace ? "/namespaces/" : "", namespace ? namespace : "",
                      "/", kind->plural, name ? "/" : "", name ? http_encode(arena, name) : "",
                      NULL);
}

/* Results of a step, beside -1. */
enum {
    DONE,
    REFUSED, /* see the verdict */
    CHANGED, /* a concurrent change: read again */
};

/* ---- both sides ---- */

/* The object, as returned by the call. */
static int call_for_it(struct hand *hand, const char *method, const char *path, const json_t *body,
                       const json_t **ret, struct error *err) {
    const json_t *object;

    if (cluster_call(hand->sync->cluster, hand->arena, method, path, body, &object, err) < 0)
        return -1;
    if (strcmp(object_text(object, "namespace"), hand->namespace) != 0 ||
        strcmp(object_text(object, "name"), hand->object_name) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s %s: Kubernetes' answer is another object's",
                         method, path);
    *ret = object;
    return 0;
}

static int put_object(struct hand *hand, const char *path, const json_t *object,
                      struct error *err) {
    struct error failure = { 0 };

    path = arena_join(hand->arena, path, "?fieldManager=scoria", NULL);
    if (call_for_it(hand, "PUT", path, object, &hand->object, &failure) == 0)
        return 0;
    if (failure.kind == ERROR_CONFLICT || failure.kind == ERROR_NOT_FOUND)
        return CHANGED;
    return error_pass(err, &failure);
}

/* Is the document missing, or the URL wrong?  In the latter case the list is missing, too. */
static int check_absence(struct hand *hand, struct error *err) {
    const struct remote_documents *kind = &hand->sync->kind->ours;
    const struct client_call call = {
        .method = "GET",
        .path = arena_join(hand->arena, "/", kind->collection,
                           "?name=", http_encode(hand->arena, hand->name), NULL),
    };
    const json_t *list =
        client_ask_list(hand->sync->api, hand->arena, &call, kind->collection, err);

    if (!list)
        return -1;
    return json_array_size(list) == 0 ? DONE : CHANGED;
}

static int find_ours(struct hand *hand, struct error *err) {
    struct error failure = { 0 };

    hand->ours =
        document_fetch(hand->sync->api, hand->arena, &hand->sync->kind->ours, hand->name, &failure);
    if (hand->ours)
        return 0;
    return failure.kind == ERROR_NOT_FOUND ? check_absence(hand, err) : error_pass(err, &failure);
}

/* A request that the API refused is reported in the object's status, with the API's message
 * without the context of the call. */
static int refused(struct hand *hand, const char *reason, const struct error *failure,
                   struct error *err) {
    const char *answer = strstr(failure->message, " answered ");
    const char *words = answer ? strstr(answer, ": ") : NULL;

    if (failure->kind == ERROR_UNAVAILABLE || failure->kind == ERROR_UNAUTHORIZED)
        return error_pass(err, failure);
    hand->verdict =
        (struct verdict){ "False", reason,
                          arena_text(hand->arena, words ? words + 2 : failure->message) };
    return REFUSED;
}

/* ---- status ---- */

static int put_status(struct hand *hand, struct error *err) {
    char text[CLOCK_TEXT_SIZE];
    const char *now =
        arena_format(hand->arena, "%.19sZ", clock_text(clock_now_us(&clock_system), text));
    json_t *status = translate_status(hand->arena, hand->object, hand->ours, &hand->verdict, now);
    json_t *whole;

    if (json_equal(status, json_object_get(hand->object, "status")))
        return 0;
    whole = json_keep(hand->arena, json_copy((json_t *)(uintptr_t)hand->object));
    json_object_set(whole, "status", status);
    return put_object(hand, arena_join(hand->arena, hand->path, "/status", NULL), whole, err);
}

/* ---- desired state ---- */

/* An object deleted meanwhile would never be processed again. */
static int check_made(struct hand *hand, struct error *err) {
    const json_t *object;
    struct error failure = { 0 };
    bool there = call_for_it(hand, "GET", hand->path, NULL, &object, &failure) == 0;

    if (!there && failure.kind != ERROR_NOT_FOUND)
        return error_pass(err, &failure);
    if (there && translate_belongs(hand->ours, object))
        return 0;
    return document_drop(hand->sync->api, hand->arena, &hand->sync->kind->ours,
                         object_text(hand->ours, "uid"), err);
}

/* A refusal counts for the version that was read; after a concurrent change it does not. */
static int judge_refusal(struct hand *hand, const char *version, const struct error *failure,
                         struct error *err) {
    if (failure->kind == ERROR_CONFLICT) {
        int found = find_ours(hand, err);

        if (found != DONE)
            return found;
        if (strcmp(version, object_text(hand->ours, "resourceVersion")) != 0)
            return CHANGED;
    }
    return refused(hand, "Refused", failure, err);
}

static int replace_ours(struct hand *hand, const json_t *sent, struct error *err) {
    struct error failure = { 0 };
    const json_t *ours =
        document_change_whole(hand->sync->api, hand->arena, &hand->sync->kind->ours,
                              object_text(hand->ours, "uid"), sent, &failure);

    if (!ours)
        return judge_refusal(hand, object_text(hand->ours, "resourceVersion"), &failure, err);
    hand->ours = ours;
    return 0;
}

static int tell_ours(struct hand *hand, struct error *err) {
    json_t *sent = translate_document(hand->arena, hand->object, hand->ours);
    struct error failure = { 0 };

    /* never creates an empty volume in place of one that had data, nor a snapshot of another
     * moment */
    if (!hand->ours && (translate_was_bound(hand->object) || translate_was_taken(hand->object))) {
        const char *rest = translate_was_taken(hand->object)
                               ? "snapshot; another would be of another moment"
                               : "volume. Without spec.cstorVolumeRef it is made anew, and empty";

        hand->verdict =
            (struct verdict){ "False", "Lost",
                              arena_format(hand->arena,
                                           "The service has no document %s any more, and so no %s.",
                                           hand->name, rest) };
        return REFUSED;
    }
    if (!hand->ours) {
        hand->ours =
            document_send(hand->sync->api, hand->arena, &hand->sync->kind->ours, sent, &failure);
        return hand->ours ? check_made(hand, err) : judge_refusal(hand, "", &failure, err);
    }
    if (translate_is_applied(hand->object) && translate_is_sent(hand->ours, sent))
        return 0;
    return replace_ours(hand, sent, err);
}

/* A document not created for this object is left alone, and not reported. */
static int refuse_taken(struct hand *hand, struct error *err) {
    hand->verdict = (struct verdict){
        "False", "NameTaken",
        arena_format(hand->arena,
                     "The service has a document %s that is not this object's; its annotation "
                     "%s would have to be %s.",
                     hand->name, TRANSLATE_UID, object_text(hand->object, "uid"))
    };
    hand->ours = NULL;
    return put_status(hand, err) < 0 ? -1 : REFUSED;
}

static int make_true(struct hand *hand, struct error *err) {
    static const char *const settled[] = { "Active", "Bound", "Ready", "Failed" };
    int outcome, written;
    const char *phase;
    json_t *whole;

    if (!object_has_finalizer(hand->object)) {
        whole = object_with_finalizer(hand->arena, hand->object, true);
        if ((written = put_object(hand, hand->path, whole, err)) != DONE)
            return written;
    }
    if (hand->ours && !translate_belongs(hand->ours, hand->object))
        return refuse_taken(hand, err);
    hand->verdict = (struct verdict){ "True", "Applied", "The service has what is declared." };
    outcome = tell_ours(hand, err);
    if (outcome < 0 || outcome == CHANGED)
        return outcome;
    whole = hand->ours && outcome == DONE
                ? translate_spec_back(hand->arena, hand->object, hand->ours)
                : NULL;
    if (whole && (written = put_object(hand, hand->path, whole, err)) != DONE)
        return written;
    if ((written = put_status(hand, err)) != DONE)
        return written;
    phase = json_text_at(hand->ours, "status.phase");
    return outcome == DONE && (!phase || words_have(settled, LENGTH(settled), phase)) ? DONE
                                                                                      : CHANGED;
}

/* ---- deletion ---- */

static const char *node_of(const json_t *whole) {
    return json_text_at(whole, "publish.nodeId");
}

/* The object stays until the document is gone. */
static int make_gone(struct hand *hand, struct error *err) {
    const char *wanted = node_of(hand->object), *has = node_of(hand->ours);
    struct error failure = { 0 };
    int sent;

    if (!object_has_finalizer(hand->object))
        return 0;
    if (!hand->ours || !translate_belongs(hand->ours, hand->object))
        return put_object(hand, hand->path, object_with_finalizer(hand->arena, hand->object, false),
                          err);
    /* a published volume is not deleted: a deleted object may also end its publication */
    if (wanted && !*wanted && has && *has && !*object_text(hand->ours, "deletionTimestamp")) {
        sent = replace_ours(hand, translate_document(hand->arena, hand->object, hand->ours), err);
        if (sent < 0 || sent == CHANGED)
            return sent;
    }
    hand->verdict = (struct verdict){ "True", "Deleting", "The service deletes it." };
    if (!*object_text(hand->ours, "deletionTimestamp") &&
        document_drop(hand->sync->api, hand->arena, &hand->sync->kind->ours,
                      object_text(hand->ours, "uid"), &failure) < 0 &&
        failure.kind != ERROR_NOT_FOUND && refused(hand, "DeletionRefused", &failure, err) < 0)
        return -1;
    return put_status(hand, err) < 0 ? -1 : 1;
}

int sync_object(const struct sync *sync, struct arena *arena, const char *namespace,
                const char *name, struct error *err) {
    struct hand hand = {
        .sync = sync,
        .arena = arena,
        .path = sync_path(arena, sync->kind, namespace, name),
        .namespace = namespace,
        .object_name = name,
        .name = translate_name(arena, namespace, name),
    };
    struct error failure = { 0 };
    int outcome;

    assert(namespace && name);
    if (call_for_it(&hand, "GET", hand.path, NULL, &hand.object, &failure) < 0)
        return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
    outcome = find_ours(&hand, err);
    if (outcome == DONE)
        outcome = *object_text(hand.object, "deletionTimestamp") ? make_gone(&hand, err)
                                                                 : make_true(&hand, err);
    return outcome > DONE ? 1 : outcome;
}
