/*
 * ControllerModifyVolume, and what a create says that may be modified later: metadata of the
 * volume, by parameters metadata.KEY.  A volume's type stays: the API has no retype.
 */
#include "csi/controller.private.h"

#include <string.h>

#define PREFIX        "metadata."
#define PREFIX_SIZE   (sizeof(PREFIX) - 1)
#define METADATA_MOST 255 /* bytes of a key and of a value */

static int check(const char *key, const char *value, struct error *err) {
    const char *name = key + PREFIX_SIZE;

    if (strncmp(key, PREFIX, PREFIX_SIZE) != 0 || !*name)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "Of a volume " PREFIX "KEY alone can be modified, %s cannot.", key);
    if (strcmp(name, CSI_NAME_KEY) == 0 || strcmp(name, CSI_UNTOLD_KEY) == 0)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s is the driver's own.", key);
    if (strlen(name) > METADATA_MOST || strlen(value) > METADATA_MOST)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                           "%.64s, or its value, is longer than %d bytes.", key, METADATA_MOST);
    return 0;
}

int controller_read_mutable(struct arena *arena, const controller_mutable *const *entries,
                            size_t count, const struct remote_pair *more,
                            const struct remote_pair **ret, struct error *err) {
    size_t known = 0;
    struct remote_pair *pairs;

    while (more && more[known].key)
        known++;
    pairs = arena_alloc(arena, (count + known + 1) * sizeof(*pairs));
    for (size_t i = 0; i < count; i++) {
        int result = check(entries[i]->key, entries[i]->value, err);

        if (result != 0)
            return result;
        pairs[i] = (struct remote_pair){ entries[i]->key + PREFIX_SIZE, entries[i]->value };
    }
    for (size_t i = 0; i < known; i++)
        pairs[count + i] = more[i];
    *ret = pairs;
    return 0;
}

/* What the API refuses of well-formed metadata is its number. */
static int refused(struct error *err) {
    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_OVER_QUOTA)
        return -1;
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message);
}

int controller_modify(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    const Csi__V1__ControllerModifyVolumeRequest *request = message;
    struct client api = csi_api(call);
    const struct remote_pair *pairs;
    struct remote_volume volume;
    int result = controller_need(request->volume_id, "volume_id", err);

    (void)response;
    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result == 0)
        result = controller_read_mutable(
            call->arena, (const controller_mutable *const *)request->mutable_parameters,
            request->n_mutable_parameters, NULL, &pairs, err);
    if (result != 0 || request->n_mutable_parameters == 0)
        return result;
    return volumes_set_metadata(&api, call->arena, volume.id, pairs, err) < 0 ? refused(err) : 0;
}
