/*
 * Volumes with and without policy share their names, and neither kind can be created from the
 * other.
 *
 * Of two concurrent calls for one name, one with a policy and one without, each creates its own
 * object first and then searches for the other, before its response.  So at least one of them finds
 * the other.  An unreported volume without policy is deleted then, also by the call for the
 * config: the class of a claim may have changed, and no other call comes.
 */
#include "csi/controller/configs.private.h"

#include <string.h>

/* ---- names ---- */

int config_check_name(const struct client *api, struct arena *arena, const char *mark,
                      struct error *err) {
    struct remote_documents kind = config_documents;
    const char *name = config_name_of(arena, mark);
    const json_t *there;
    struct volume_config config;

    kind.may_lack = true;
    there = document_fetch(api, arena, &kind, name, err);
    if (!there) /* without the right to read configs none was created */
        return err->kind == ERROR_NOT_FOUND || err->kind == ERROR_FORBIDDEN
                   ? 0
                   : controller_outcome_unknown(-1, err);
    if (config_decode(arena, there, &config, err) < 0)
        return controller_outcome_unknown(-1, err);
    if (strcmp(config.csi_name, mark) != 0)
        return 0;
    return grpc_refuse(err,
                       strcmp(config.status, "deleting") == 0 ? GRPC_ABORTED : GRPC_ALREADY_EXISTS,
                       "Volume %s already has the name, and was created with a policy.", config.id);
}

int config_check_plain_name(const struct grpc_call *call, const struct client *api,
                            const char *mark, struct error *err) {
    struct remote_volume volume;
    int result = controller_find(api, call->arena, &volume_kind, mark, &volume, err);

    if (result != FOUND)
        return result;
    if (controller_is_unreported(volume.metadata))
        return controller_drop_unreported(call, api, &volume_kind, &volume, err);
    return grpc_refuse(
        err, strcmp(volume.status, "deleting") == 0 ? GRPC_ABORTED : GRPC_ALREADY_EXISTS,
        "Volume %s already has the name, and was created without a policy.", volume.id);
}

/* ---- sources ---- */

int config_refuse_plain(const struct client *api, struct arena *arena,
                        const struct controller_kind *kind, const char *id, struct error *err) {
    bool is_volume = kind == &volume_kind;
    int result = controller_require(id, is_volume ? "volume_id of the source" : "snapshot_id", err);

    if (result == 0)
        result = controller_read(api, arena, kind, id, arena_alloc(arena, kind->row_size), err);
    return result != 0
               ? result
               : grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                             "%s %s %s: a volume created from it needs a class without " POLICY_KEY
                             ".",
                             is_volume ? "Volume" : "Snapshot", id,
                             is_volume ? "was created without a policy"
                                       : "belongs to a volume without a policy");
}

int config_check_source(const struct client *api, struct arena *arena, const char *volume_id,
                        const char *snapshot_id, struct error *err) {
    struct config_snapshot snapshot = { 0 };
    struct volume_config config = { 0 };
    int result = 0;

    if (volume_id && config_is_id(volume_id))
        result = config_read(api, arena, volume_id, &config, err);
    else if (snapshot_id && config_is_snapshot_id(snapshot_id))
        result = controller_read(api, arena, &config_snapshot_kind, snapshot_id, &snapshot, err);
    else
        return 0;
    return result != 0
               ? result
               : grpc_refuse(
                     err, GRPC_INVALID_ARGUMENT,
                     "%s was created with a policy: a volume created from it needs a class with " POLICY_KEY
                     ".",
                     config.id ? config.id : snapshot.id);
}
