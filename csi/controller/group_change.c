/*
 * Members of a volume group: one change of the API, and the code of its refusal; and
 * ModifyVolumeGroupMembership.
 */
#include "csi/controller/groups.private.h"

#include "common/words.h"
#include "json/json.h"

#include <string.h>

/* ---- lists of members ---- */

static bool has_text(char *const *texts, size_t count, const char *text) {
    return words_have((const char *const *)texts, count, text);
}

static const char *with_comma(struct arena *arena, const char *list, const char *id) {
    return arena_join(arena, list, *list ? "," : "", id, NULL);
}

const char *group_missing(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count) {
    const char *list = "";

    for (size_t i = 0; i < count; i++)
        if (!json_list_has(group->volumes, ids[i]) && !has_text(ids, i, ids[i]))
            list = with_comma(arena, list, ids[i]);
    return list;
}

const char *group_surplus(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count) {
    const char *list = "";

    for (size_t i = 0; i < json_array_size(group->volumes); i++) {
        const char *member = json_string_value(json_array_get(group->volumes, i));

        if (member && !has_text(ids, count, member))
            list = with_comma(arena, list, member);
    }
    return list;
}

int group_read_members(const struct client *api, struct arena *arena, char **ids, size_t count,
                       struct remote_volume **ret, struct error *err) {
    struct remote_volume *volumes = arena_alloc(arena, (count + 1) * sizeof(*volumes));

    for (size_t i = 0; i < count; i++) {
        int result = controller_require(ids[i], "A volume id", err);

        if (result == 0)
            result = controller_read(api, arena, &volume_kind, ids[i], &volumes[i], err);
        if (result != 0)
            return result;
        ids[i] = arena_text(arena, volumes[i].id);
    }
    *ret = volumes;
    return 0;
}

/* ---- the change ---- */

/* The volume is the reason: a failed extend of it is reset, so that a repeated call succeeds. */
static int volume_refused(const struct grpc_call *call, const struct client *api, const char *id,
                          enum grpc_code code, struct error *err) {
    struct error refusal = *err;
    struct remote_volume volume;
    const char *status;
    int result = controller_read(api, call->arena, &volume_kind, id, &volume, err);

    if (result != 0)
        return result;
    status = volume.status;
    result = controller_reset_extend(call, api, &volume, err);
    if (result != 0)
        return result;
    if (strcmp(status, volume.status) != 0)
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    *err = refusal;
    return controller_refused(status, code, err);
}

static int change_refused(const struct grpc_call *call, const struct client *api,
                          const struct remote_group *group, char *const *ids, size_t count,
                          enum grpc_code code, struct error *err) {
    struct error refusal = *err;
    struct remote_group now;
    int result = controller_read(api, call->arena, &group_kind, group->id, &now, err);

    if (result != 0)
        return result;
    if (words_have(group_kind.passing, group_kind.passing_count, now.status) ||
        !json_equal(now.volumes, group->volumes))
        return grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    *err = refusal;
    if (strcmp(now.status, "available") != 0)
        return grpc_refuse(err, GRPC_INTERNAL, "Volume group %s is %s: it can only be deleted.",
                           now.id, now.status);
    for (size_t i = 0; i < count; i++)
        if (strstr(refusal.message, ids[i]))
            return volume_refused(call, api, ids[i], code, err);
    for (size_t i = 0; i < json_array_size(now.volumes); i++) {
        const char *id = json_string_value(json_array_get(now.volumes, i));

        if (id && strstr(refusal.message, id))
            return volume_refused(call, api, id, code, err);
    }
    return controller_refused_of(api, call->arena, ids, count, code, err);
}

int group_change(const struct grpc_call *call, const struct client *api,
                 const struct remote_group *group, char *const *ids, size_t count, bool removes,
                 enum grpc_code code, struct error *err) {
    struct arena *arena = call->arena;
    const char *add = group_missing(arena, group, ids, count);
    const char *removed = removes ? group_surplus(arena, group, ids, count) : "";
    const char *description =
        group_is_described_as_unreported(group) ? group_description(call) : NULL;

    if ((!*add && !*removed && !description) ||
        groups_change(api, arena, group->id, description, add, removed, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume group %s.", group->id);
    return err->kind == ERROR_BAD_REQUEST ? change_refused(call, api, group, ids, count, code, err)
                                          : -1;
}

int group_check_members(struct arena *arena, const struct remote_group *group, char *const *ids,
                        size_t count, struct error *err) {
    return *group_missing(arena, group, ids, count) || *group_surplus(arena, group, ids, count)
               ? grpc_refuse(err, GRPC_ABORTED,
                             "The volumes of group %s are being changed by another call.",
                             group->id)
               : 0;
}

/* ---- ModifyVolumeGroupMembership ---- */

int group_modify_call(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    const Volumegroup__ModifyVolumeGroupMembershipRequest *request = message;
    Volumegroup__ModifyVolumeGroupMembershipResponse *answer = response;
    struct client api = csi_api(call);
    struct arena *arena = call->arena;
    struct remote_volume *members;
    struct remote_group group;
    int result = controller_require(request->volume_group_id, "volume_group_id", err);

    if (result == 0 && request->n_parameters > 0)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.",
                             request->parameters[0]->key);
    if (result == 0)
        result = controller_read(&api, arena, &group_kind, request->volume_group_id, &group, err);
    /* Without members a group snapshot of the other cluster would be empty, without an error. */
    if (result == 0 && group_is_of_driver(&group))
        result = group_check_owner(call, group_kind.label, group.id, group.description, err);
    if (result == 0)
        result = group_read_members(&api, arena, request->volume_ids, request->n_volume_ids,
                                    &members, err);
    if (result == 0)
        result = controller_wait_idle(call, &api, &group_kind, &group, err);
    if (result == 0)
        result = group_change(call, &api, &group, request->volume_ids, request->n_volume_ids, true,
                              GRPC_INVALID_ARGUMENT, err);
    if (result == 0)
        result = group_again(call, &api, &group, err);
    if (result == 0)
        result =
            group_check_members(arena, &group, request->volume_ids, request->n_volume_ids, err);
    return result != 0 ? result : group_show(&api, arena, &group, &answer->volume_group, err);
}
