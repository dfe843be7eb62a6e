/*
 * Common operations on volumes, snapshots, groups and group snapshots: read, wait, search by name,
 * delete.
 */
#include "csi/controller/controller.private.h"

#include "client/messages.h"
#include "common/cleanup.h"
#include "common/words.h"

#include <string.h>

#define OLDEST_FIRST "&sort=created_at:asc,id:asc"

/* A row starts with these two. */
static const char *id_of(const void *row) {
    return ((const char *const *)row)[0];
}

static const char *status_of(const void *row) {
    return ((const char *const *)row)[1];
}

int controller_read(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *id, void *ret,
                    struct error *err) {
    if (kind->read(api, arena, id, ret, err) == 0)
        return 0;
    return err->kind == ERROR_NOT_FOUND
               ? grpc_refuse(err, GRPC_NOT_FOUND, "There is no %s %s.", kind->label, id)
               : -1;
}

int controller_wait_idle(const struct grpc_call *call, const struct client *api,
                         const struct controller_kind *kind, void *row, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    const char *id = id_of(row);

    while (words_have(kind->passing, kind->passing_count, status_of(row))) {
        int result;

        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "The %s %s is still %s.", kind->label, id,
                               status_of(row));
        result = controller_read(api, call->arena, kind, id, row, err);
        if (result != 0)
            return result;
    }
    return 0;
}

/* ---- search by name ---- */

int controller_outcome_unknown(int result, struct error *err) {
    enum grpc_code code = result == 0 ? GRPC_OK : grpc_code_of(result, err);

    if (code == GRPC_OK || code == GRPC_ABORTED || code == GRPC_UNAVAILABLE)
        return result;
    return grpc_refuse(err, GRPC_UNAVAILABLE, "%s",
                       result < 0 ? error_client_text(err) : err->message);
}

int controller_find(const struct client *api, struct arena *arena,
                    const struct controller_kind *kind, const char *mark, void *ret,
                    struct error *err) {
    const char *query = arena_join(arena, kind->query(arena, mark), OLDEST_FIRST, NULL);
    void *rows = NULL;
    int count = kind->page(api, arena, query, NULL, 0, &rows, err);

    for (int i = 0; i < count; i++) {
        const char *row = (const char *)rows + (size_t)i * kind->row_size;

        if (kind->is_named(row, mark)) {
            memcpy(ret, row, kind->row_size);
            return FOUND;
        }
    }
    return count < 0 ? controller_outcome_unknown(-1, err) : 0;
}

int controller_find_made(const struct client *api, struct arena *arena,
                         const struct controller_kind *kind, const char *mark, const char *made_id,
                         void *ret, bool *ret_mine, struct error *err) {
    int result = controller_find(api, arena, kind, mark, ret, err);

    if (result == 0)
        return grpc_refuse(err, GRPC_ABORTED, "The %s %s is gone again.", kind->label, made_id);
    if (result != FOUND)
        return result;
    *ret_mine = strcmp(id_of(ret), made_id) == 0;
    return 0;
}

static int refuse_just_deleted(const struct controller_kind *kind, struct error *err) {
    return grpc_refuse(err, GRPC_ABORTED, "The %s of this name has just been deleted.",
                       kind->label);
}

int controller_mark_reported(const struct client *api, struct arena *arena,
                             const struct controller_kind *kind, const char *id,
                             struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = arena_join(arena, "/", kind->label, "s", NULL),
        .id = id,
        .behind = "/metadata/" CSI_UNREPORTED_KEY,
        .done = { 200 },
    };
    void *row = arena_alloc(arena, kind->row_size);
    struct http_answer answer;
    int result;

    /* ERROR_NOT_FOUND: another call has marked it, or the object itself is gone. */
    if (client_call(api, arena, &call, &answer, err) < 0 && err->kind != ERROR_NOT_FOUND)
        return -1;
    /* A call with other parameters may have begun to delete it before. */
    result = controller_read(api, arena, kind, id, row, err);
    return result == GRPC_NOT_FOUND || (result == 0 && strcmp(status_of(row), "deleting") == 0)
               ? refuse_just_deleted(kind, err)
               : result;
}

/* ---- refusals of the API ---- */

enum state { STEADY, PASSING, FAILED };

static enum state state_of(const char *status) {
    static const char *const passing[] = { "attaching", "detaching", "reserved" };

    if (strncmp(status, "error", strlen("error")) == 0)
        return FAILED;
    return words_have(passing, LENGTH(passing), status) ||
                   words_have(volume_kind.passing, volume_kind.passing_count, status)
               ? PASSING
               : STEADY;
}

bool controller_is_temporary(const struct error *err) {
    static const char *const texts[] = { " has ended.", " has changed meanwhile.",
                                         " must not be migrating to ", ": it is migrating." };
    static const char it_is[] = ": it is ";
    const char *found = strstr(err->message, it_is);
    char status[32] = "";

    for (size_t i = 0; i < LENGTH(texts); i++)
        if (strstr(err->message, texts[i]))
            return true;
    if (found) {
        found += strlen(it_is);
        snprintf(status, sizeof(status), "%.*s", (int)strcspn(found, "."), found);
    }
    return state_of(status) == PASSING;
}

#define OTHERWISE GRPC_CODES

/* The code for an error of the API, by the state of the object: it decides whether a sidecar
 * repeats the call. */
static int refused(enum state state, enum grpc_code otherwise, struct error *err) {
    static const struct {
        enum error_kind kind;
        enum state state;
        enum grpc_code code;
    } codes[] = {
        { ERROR_BAD_REQUEST, STEADY, OTHERWISE },     { ERROR_BAD_REQUEST, PASSING, GRPC_ABORTED },
        { ERROR_BAD_REQUEST, FAILED, GRPC_INTERNAL }, { ERROR_CONFLICT, STEADY, GRPC_ABORTED },
        { ERROR_CONFLICT, PASSING, GRPC_ABORTED },    { ERROR_CONFLICT, FAILED, GRPC_INTERNAL },
    };

    if (controller_is_temporary(err))
        state = PASSING;
    for (size_t i = 0; i < LENGTH(codes); i++)
        if (codes[i].kind == err->kind && codes[i].state == state)
            return grpc_refuse(err, codes[i].code == OTHERWISE ? otherwise : codes[i].code, "%s",
                               err->message);
    return -1; /* not a refusal: its kind has a code */
}

int controller_refused(const char *status, enum grpc_code otherwise, struct error *err) {
    return refused(state_of(status), otherwise, err);
}

/* A refusal of the size begins otherwise. */
#define OF_ITS_STATE ": Invalid volume:"

int controller_refused_volume(const struct client *api, struct arena *arena, const char *id,
                              enum grpc_code otherwise, struct error *err) {
    struct error refusal = *err;
    struct remote_volume volume;
    int result = controller_read(api, arena, &volume_kind, id, &volume, err);

    if (result != 0)
        return result;
    *err = refusal;
    if (strstr(err->message, OF_ITS_STATE)) {
        bool differs = strcmp(volume.status, "available") == 0 ||
                       (strcmp(volume.status, "in-use") == 0 &&
                        (otherwise == GRPC_ABORTED || !strstr(err->message, "in-use")));

        /* The status may have changed between the refusal and the read, or before the refusal by a
         * concurrent publish: the next one reports that. */
        otherwise =
            differs && strstr(err->message, " status ") ? GRPC_ABORTED : GRPC_FAILED_PRECONDITION;
    }
    return controller_refused(volume.status, otherwise, err);
}

int controller_refused_of(const struct client *api, struct arena *arena, char *const *ids,
                          size_t count, enum grpc_code otherwise, struct error *err) {
    enum state state = STEADY;
    struct error refusal = *err;

    for (size_t i = 0; i < count && state == STEADY; i++) {
        struct remote_volume volume;
        int result = controller_read(api, arena, &volume_kind, ids[i], &volume, err);

        if (result < 0)
            return result;
        if (result == 0)
            state = state_of(volume.status);
    }
    *err = refusal;
    return refused(state, otherwise, err);
}

/* "create snapshot": the volume is in use, and its backend takes no snapshot of it meanwhile. */
#define IN_USE_EVENT "VOLUME_VOLUME_SNAPSHOT_009_910"

int controller_failed(const struct client *api, struct arena *arena, const char *id,
                      enum grpc_code otherwise, const char *what, struct error *err) {
    struct remote_message why = { "", "see its messages and the service's log" };
    struct error unknown;

    messages_newest(api, arena, id, &why, &unknown);
    if (strstr(why.text, "No space is left"))
        otherwise = GRPC_RESOURCE_EXHAUSTED;
    else if (strcmp(why.event_id, IN_USE_EVENT) == 0)
        otherwise = GRPC_FAILED_PRECONDITION;
    return grpc_refuse(err, otherwise, "%s: %s", what, why.text);
}

/* ---- delete ---- */

/* In these the API accepts a deletion: a refusal has another reason, such as snapshots, and lasts
 * as long as that. */
static const char *status_for_refusal(const char *status) {
    static const char *const deletable[] = { "error", "error_extending", "error_restoring",
                                             "error_managing" };

    return words_have(deletable, LENGTH(deletable), status) ? "available" : status;
}

#define STAYS (GRPC_CODES + 1) /* of a row that ends the list */

static int check_deleted(void *arg, const void *row, struct error *err) {
    bool *any = arg;

    (void)err;
    *any = true;
    return strcmp(status_of(row), "deleting") == 0 ? 0 : STAYS;
}

bool controller_all_deleted(const struct client *api, struct arena *arena,
                            const struct controller_kind *kind, const char *query) {
    bool any = false;
    const struct controller_list list = {
        .kind = kind, .query = query, .keep = check_deleted, .arg = &any
    };
    struct error ignored;
    int result = controller_collect(api, arena, &list, NULL, &ignored);

    return result == 0 ? any : result != STAYS;
}

static bool is_unreported(const struct controller_kind *kind, const void *row) {
    return controller_is_unreported(
        *(const json_t *const *)(const void *)((const char *)row + kind->metadata_at));
}

static int begin_delete(const struct grpc_call *call, const struct client *api,
                        const struct controller_kind *kind, void *row, const char *unreported,
                        struct error *err) {
    int result = controller_wait_idle(call, api, kind, row, err);
    struct error refusal;

    /* An API of a former release ignores the condition of the request. */
    if (result == 0 && unreported && !is_unreported(kind, row))
        return grpc_refuse(err, GRPC_ABORTED, "Another call has just reported the %s %s.",
                           kind->label, id_of(row));
    if (result == 0 && kind->check_delete)
        result = kind->check_delete(call, api, row, err);
    if (result != 0)
        return result;
    if (kind->destroy(api, call->arena, id_of(row), unreported, err) >= 0)
        return controller_read(api, call->arena, kind, id_of(row), row, err);
    /* The API has refused.  A concurrent deletion is waited for. */
    refusal = *err;
    result = controller_read(api, call->arena, kind, id_of(row), row, err);
    if (result != 0 || strcmp(status_of(row), "deleting") == 0)
        return result;
    if (words_have(kind->passing, kind->passing_count, status_of(row)) ||
        (refusal.kind == ERROR_BAD_REQUEST && kind->has_ending_parts &&
         kind->has_ending_parts(api, call->arena, row)))
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    *err = refusal;
    return controller_refused(status_for_refusal(status_of(row)), GRPC_FAILED_PRECONDITION, err);
}

static int delete_object(const struct grpc_call *call, const struct client *api,
                         const struct controller_kind *kind, const char *id, const char *unreported,
                         struct error *err) {
    void *row = arena_alloc(call->arena, kind->row_size);
    int result = controller_read(api, call->arena, kind, id, row, err);

    if (result == 0 && strcmp(status_of(row), "deleting") != 0)
        result = begin_delete(call, api, kind, row, unreported, err);
    if (result == 0)
        result = controller_wait_idle(call, api, kind, row, err);
    if (result == GRPC_NOT_FOUND)
        return 0;
    return result != 0
               ? result
               : grpc_refuse(err, GRPC_INTERNAL, "The %s %s could not be deleted: it is %s.",
                             kind->label, id, status_of(row));
}

int controller_delete(const struct grpc_call *call, const struct client *api,
                      const struct controller_kind *kind, const char *id, struct error *err) {
    return delete_object(call, api, kind, id, NULL, err);
}

int controller_drop_unreported(const struct grpc_call *call, const struct client *api,
                               const struct controller_kind *kind, const void *row,
                               struct error *err) {
    return is_unreported(kind, row)
               ? controller_outcome_unknown(
                     delete_object(call, api, kind, id_of(row), CSI_UNREPORTED_KEY, err), err)
               : 0;
}

int controller_discard_failed(const struct grpc_call *call, const struct client *api,
                              const struct controller_kind *kind, const void *row,
                              struct error *err) {
    int failure = controller_failed(
        api, call->arena, id_of(row), kind->create_failed,
        arena_format(call->arena, "The %s %s %s", kind->label, id_of(row), kind->create_failure),
        err);
    struct error why = *err;
    int result = controller_drop_unreported(call, api, kind, row, err);

    if (result != 0)
        return result;
    *err = why;
    return failure;
}

int controller_wait_created(const struct grpc_call *call, const struct client *api,
                            const struct controller_kind *kind, void *row, struct error *err) {
    int result = controller_wait_idle(call, api, kind, row, err);

    if (result == GRPC_NOT_FOUND)
        return refuse_just_deleted(kind, err);
    if (result != 0)
        return controller_outcome_unknown(result, err);
    if (strcmp(status_of(row), "error") == 0)
        return controller_discard_failed(call, api, kind, row, err);
    if (strcmp(status_of(row), "error_deleting") != 0)
        return 0;
    if (!is_unreported(kind, row))
        return grpc_refuse(err, GRPC_ABORTED, "The %s %s has the name and could not be deleted.",
                           kind->label, id_of(row));
    /* Without its handle no other call deletes it. */
    result = controller_drop_unreported(call, api, kind, row, err);
    return result != 0 ? result : refuse_just_deleted(kind, err);
}

int controller_created(const struct grpc_call *call, const struct client *api,
                       const struct controller_kind *kind, const char *mark, int result,
                       struct error *err) {
    enum grpc_code code = result == 0 ? GRPC_OK : grpc_code_of(result, err);
    void *row = arena_alloc(call->arena, kind->row_size);
    struct error refusal = *err;
    int found;

    if (code == GRPC_OK || code == GRPC_CANCELLED || code == GRPC_DEADLINE_EXCEEDED ||
        code == GRPC_ABORTED || code == GRPC_UNAVAILABLE)
        return result;
    found = controller_find(api, call->arena, kind, mark, row, err);
    if (found == FOUND && is_unreported(kind, row)) {
        found = controller_drop_unreported(call, api, kind, row, err);
        if (found == 0 && code == GRPC_ALREADY_EXISTS)
            return grpc_refuse(err, GRPC_ABORTED, "%s It was not reported and is deleted.",
                               refusal.message);
    }
    if (found != 0 && found != FOUND)
        return found;
    *err = refusal;
    return result;
}
