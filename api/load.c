#include "api/load.h"

#include "api/routes.h"
#include "ledger/message.h"

/* ---- each kind: reads request->id into the request, and says whose it is ---- */

static const struct policy_target *owner_of(struct request *request, const char *project_id,
                                            const char *user_id) {
    const struct policy_target owner = { .project_id = project_id, .user_id = user_id };

    return arena_copy(request->work.arena, &owner, sizeof(owner));
}

static int read_nothing(struct request *request, const char *id, struct error *err) {
    (void)request, (void)id, (void)err;
    return 0;
}

static int read_volume(struct request *request, const char *id, struct error *err) {
    struct volume *volume = &request->volume;
    bool row_alone = request->route->flags & ROUTE_ROW_ALONE;

    if ((row_alone ? volume_get_row : volume_get)(&request->work, id, volume, err) < 0)
        return -1;
    request->owner = owner_of(request, volume->project_id, volume->user_id);
    return 0;
}

static int read_attachment(struct request *request, const char *id, struct error *err) {
    if (attachment_get(&request->work, id, &request->attachment, err) < 0)
        return -1;
    return read_volume(request, request->attachment.volume_id, err);
}

static int read_type(struct request *request, const char *id, struct error *err) {
    return volume_type_get(&request->work, id, &request->type, err);
}

static int read_message(struct request *request, const char *id, struct error *err) {
    struct message *message = arena_alloc(request->work.arena, sizeof(*message));

    if (message_get(&request->work, id, message, err) < 0)
        return -1;
    request->message = message;
    request->owner = owner_of(request, message->project_id, NULL);
    return 0;
}

#define SEES_VOLUMES "volume:get"

static const struct object {
    int (*read)(struct request *request, const char *id, struct error *err);
    const char *sees;                  /* the rule that says who may see one; NULL: no rule */
    const char *before_id, *behind_id; /* the words when it is not there */
} objects[] = {
    [LOADS_NOTHING] = { read_nothing, NULL, "", " could not be found." },
    [LOADS_VOLUME] = { read_volume, SEES_VOLUMES, "Volume ", " could not be found." },
    [LOADS_ATTACHMENT] = { read_attachment, SEES_VOLUMES,
                           "Volume attachment could not be found with filter: "
                           "attachment_id = ",
                           "." },
    [LOADS_TYPE] = { read_type, NULL, "Volume type ", " could not be found." },
    [LOADS_MESSAGE] = { read_message, NULL, "Message ", " could not be found." },
};

/* Whatever is missing on the way to the object, the answer names what the client asked for: the
 * volume of somebody else's attachment stays unsaid. */
static int load(struct request *request, const struct object *object, const char *id,
                struct error *err) {
    bool found = object->read(request, id, err) == 0;

    if (!found && err->kind != ERROR_NOT_FOUND)
        return -1;
    if (found && (!object->sees || request_allows(request, object->sees, request->owner)))
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "%s%s%s", object->before_id, id ? id : "The resource",
                     object->behind_id);
}

int load_object(struct request *request, struct error *err) {
    request->owner = NULL;
    return load(request, &objects[request->route->loads], request->id, err);
}

int load_volume(struct request *request, const char *id, struct error *err) {
    return load(request, &objects[LOADS_VOLUME], id, err);
}

int load_check_volume(struct request *request, const char *id, struct error *err) {
    const struct volume kept = request->volume;
    const struct policy_target *owner = request->owner;
    int result = load_volume(request, id, err);

    request->volume = kept;
    request->owner = owner;
    return result;
}
