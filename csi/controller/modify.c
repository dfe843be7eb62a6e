/*
 * ControllerModifyVolume, and the mutable parameters of a create: metadata of the volume, by
 * parameters metadata.KEY, and its type, if the volume can have that without migration.
 */
#include "csi/controller/controller.private.h"

#include "client/pools.h"
#include "common/cleanup.h"

#include <string.h>

#define PREFIX        "metadata."
#define PREFIX_SIZE   (sizeof(PREFIX) - 1)
#define METADATA_MOST 255 /* bytes of a key and of a value */

static int check(const char *key, const char *value, struct error *err) {
    static const char *const known[] = { "type", PREFIX "KEY" };
    const char *name = key + PREFIX_SIZE;

    if (strncmp(key, PREFIX, PREFIX_SIZE) != 0 || !*name)
        return controller_unknown(key, "mutable parameter", " of a volume", known, LENGTH(known),
                                  err);
    if (strcmp(name, CSI_NAME_KEY) == 0 || strcmp(name, CSI_UNREPORTED_KEY) == 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is reserved for the driver.", key);
    if (strlen(name) > METADATA_MOST || strlen(value) > METADATA_MOST)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "%.64s, or its value, is longer than %d bytes.", key, METADATA_MOST);
    return 0;
}

int controller_read_mutable(struct arena *arena, const controller_parameter *const *entries,
                            size_t count, const struct remote_pair *more,
                            const struct remote_pair **ret, const char **ret_type,
                            struct error *err) {
    size_t known = 0, own = 0;
    struct remote_pair *pairs;

    while (more && more[known].key)
        known++;
    pairs = arena_alloc(arena, (count + known + 1) * sizeof(*pairs));
    for (size_t i = 0; i < count; i++) {
        const char *key = entries[i]->key, *value = entries[i]->value;
        int result = 0;

        if (strcmp(key, "type") == 0 && *value)
            *ret_type = value;
        else if ((result = check(key, value, err)) == 0)
            pairs[own++] = (struct remote_pair){ key + PREFIX_SIZE, value };
        if (result != 0)
            return result;
    }
    for (size_t i = 0; i < known; i++)
        pairs[own + i] = more[i];
    *ret = pairs;
    return 0;
}

/* Well-formed parameters that the API refuses are not possible for this volume. */
static int refused(struct error *err) {
    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_OVER_QUOTA)
        return -1;
    return grpc_refuse(err, controller_is_temporary(err) ? GRPC_ABORTED : GRPC_INVALID_ARGUMENT,
                       "%s", err->message);
}

/* Does the volume have another type? */
static int is_other_type(const struct client *api, struct arena *arena,
                         const struct remote_volume *volume, const char *name, bool *ret,
                         struct error *err) {
    struct remote_type type;

    *ret = false;
    if (!name)
        return 0;
    if (types_find(api, arena, name, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no volume type %s.", name)
                   : -1;
    *ret = !volume->type || strcmp(volume->type, type.name) != 0;
    return 0;
}

static int retype(const struct grpc_call *call, const struct client *api,
                  struct remote_volume *volume, const char *type, struct error *err) {
    int result = controller_reset_extend(call, api, volume, err);
    struct remote_volume now;
    struct error refusal;

    if (result != 0)
        return result;
    if (strcmp(volume->status, "available") != 0 && strcmp(volume->status, "in-use") != 0)
        return grpc_refuse(err, GRPC_ABORTED, "Volume %s is %s.", volume->id, volume->status);
    if (volumes_retype(api, call->arena, volume->id, type, err) == 0)
        return 0;
    result = refused(err);
    if (result != GRPC_INVALID_ARGUMENT)
        return result;
    refusal = *err;
    result = controller_read(api, call->arena, &volume_kind, volume->id, &now, err);
    if (result != 0)
        return result;
    /* A concurrent call may have changed the type. */
    return grpc_refuse(err,
                       strcmp(now.status, volume->status) == 0 &&
                               strcmp(now.type ? now.type : "", volume->type ? volume->type : "") ==
                                   0
                           ? GRPC_INVALID_ARGUMENT
                           : GRPC_ABORTED,
                       "%s", refusal.message);
}

/* All or nothing: if the metadata are refused, the previous type is restored. */
static int modify(const struct grpc_call *call, const struct client *api,
                  struct remote_volume *volume, const struct remote_pair *pairs, const char *type,
                  struct error *err) {
    struct arena *arena = call->arena;
    struct error ignored;
    bool other;
    int result = is_other_type(api, arena, volume, type, &other, err);

    if (result == 0 && other)
        result = retype(call, api, volume, type, err);
    if (result != 0 || !pairs[0].key ||
        volumes_set_metadata(api, arena, volume->id, pairs, err) == 0)
        return result;
    result = refused(err);
    if (result > 0 && other && volume->type)
        volumes_retype(api, arena, volume->id, volume->type, &ignored);
    return result;
}

int controller_modify(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    const Csi__V1__ControllerModifyVolumeRequest *request = message;
    struct client api = csi_api(call);
    const struct remote_pair *pairs;
    struct remote_volume volume;
    const char *type = NULL;
    int result = controller_require(request->volume_id, "volume_id", err);

    (void)response;
    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result == 0)
        result = controller_read_mutable(call->arena, CONTROLLER_MUTABLE(request), NULL, &pairs,
                                         &type, err);
    return result != 0 ? result : modify(call, &api, &volume, pairs, type, err);
}
