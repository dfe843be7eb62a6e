/*
 * CSI-Addons' VolumeGroup over generic groups.
 *
 * A group has no metadata: its name is the orchestrator's, and its description identifies the
 * driver; one group has both, as with volumes (controller.private.h).  Creation and adding members
 * are two steps of the API: a repeated call fills a group that was created without its members.
 */
#include "csi/controller/groups.private.h"

#include "common/cleanup.h"
#include "common/words.h"

#include <string.h>

/* ---- descriptions ---- */

struct members {
    struct arena *arena;
    Volumegroup__VolumeGroup *shown;
    size_t most;
};

/* A volume that joins meanwhile is in the next response. */
static int keep_member(void *arg, const void *row, struct error *err) {
    const struct members *to = arg;

    (void)err;
    if (to->shown->n_volumes < to->most)
        to->shown->volumes[to->shown->n_volumes++] = controller_volume(to->arena, row);
    return 0;
}

int group_show(const struct client *api, struct arena *arena, const struct remote_group *group,
               Volumegroup__VolumeGroup **ret, struct error *err) {
    Volumegroup__VolumeGroup *shown =
        CSI_NEW(arena, Volumegroup__VolumeGroup, volumegroup__volume_group);
    /* A group has only the ids of its members; a list of them has their sizes. */
    struct members to = { arena, shown, json_array_size(group->volumes) };
    const struct controller_list list = {
        .kind = &volume_kind,
        .query = arena_join(arena, "group_id=", http_encode(arena, group->id), NULL),
        .keep = keep_member,
        .arg = &to,
    };
    int result = 0;

    shown->volume_group_id = arena_text(arena, group->id);
    if (to.most > 0) {
        shown->volumes = arena_alloc(arena, to.most * sizeof(*shown->volumes));
        result = controller_collect(api, arena, &list, NULL, err);
    }
    if (result == 0)
        *ret = shown;
    return result;
}

int group_again(const struct grpc_call *call, const struct client *api, struct remote_group *group,
                struct error *err) {
    int result = controller_read(api, call->arena, &group_kind, group->id, group, err);

    return result != 0 ? result : controller_wait_idle(call, api, &group_kind, group, err);
}

/* ---- members ---- */

static bool has_text(char *const *texts, size_t count, const char *text) {
    return words_have((const char *const *)texts, count, text);
}

bool group_has(const json_t *ids, const char *id) {
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const char *one = json_string_value(json_array_get(ids, i));

        if (one && strcmp(one, id) == 0)
            return true;
    }
    return false;
}

static const char *with_comma(struct arena *arena, const char *list, const char *id) {
    return arena_join(arena, list, *list ? "," : "", id, NULL);
}

const char *group_missing(struct arena *arena, const struct remote_group *group, char *const *ids,
                          size_t count) {
    const char *list = "";

    for (size_t i = 0; i < count; i++)
        if (!group_has(group->volumes, ids[i]) && !has_text(ids, i, ids[i]))
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

int group_change(const struct client *api, struct arena *arena, const char *id, const char *add,
                 const char *removed, enum grpc_code code, struct error *err) {
    if ((!*add && !*removed) || groups_change(api, arena, id, add, removed, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume group %s.", id);
    if (err->kind != ERROR_BAD_REQUEST)
        return -1;
    return grpc_refuse(err, code, "%s", err->message);
}

/* ---- the kind ---- */

#define FOR " for "

const char *group_description(const struct grpc_call *call) {
    const char *cluster = csi_driver_of(call)->cluster;

    return *cluster ? arena_join(call->arena, OURS FOR, cluster, NULL) : OURS;
}

const char *group_query(struct arena *arena, const char *mark) {
    size_t length;
    const char *cluster, *name = controller_name_in(mark, &cluster, &length);

    return arena_join(arena, "name=", http_encode(arena, name), NULL);
}

/* The cluster in a description; NULL: not a description of a driver. */
static const char *cluster_in(const char *description) {
    const char *rest = description ? description : "";

    if (strncmp(rest, OURS, strlen(OURS)) != 0)
        return NULL;
    rest += strlen(OURS);
    if (!*rest)
        return rest;
    return strncmp(rest, FOR, strlen(FOR)) == 0 ? rest + strlen(FOR) : NULL;
}

bool group_is_named(const char *have, const char *description, const char *mark) {
    size_t length;
    const char *cluster, *name = controller_name_in(mark, &cluster, &length);
    const char *owner = cluster_in(description);

    return have && owner && strcmp(have, name) == 0 && strlen(owner) == length &&
           memcmp(owner, cluster, length) == 0;
}

int group_check_owner(const struct grpc_call *call, const char *label, const char *id,
                      const char *description, struct error *err) {
    const char *owner = cluster_in(description);

    return controller_check_owner(
        call, label, id, owner ? arena_join(call->arena, "@", owner, "/", NULL) : NULL, err);
}

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return groups_read(api, arena, id, ret, err);
}

static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    struct remote_group *groups = NULL;
    int count = groups_list(api, arena, query, marker, limit, &groups, err);

    *ret = groups;
    return count;
}

static bool is_named(const void *row, const char *mark) {
    const struct remote_group *group = row;

    return group_is_named(group->name, group->description, mark);
}

struct owned {
    const struct grpc_call *call;
};

static int check_member(void *arg, const void *row, struct error *err) {
    const struct remote_volume *volume = row;

    return controller_check_owner(((const struct owned *)arg)->call, volume_kind.label, volume->id,
                                  controller_mark_in(volume->metadata), err);
}

/* Its volumes are deleted with it. */
static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct remote_group *group = row;
    struct owned owned = { call };
    const struct controller_list members = {
        .kind = &volume_kind,
        .query = arena_join(call->arena, "group_id=", http_encode(call->arena, group->id), NULL),
        .keep = check_member,
        .arg = &owned,
    };
    int result = group_check_owner(call, group_kind.label, group->id, group->description, err);

    if (result != 0 || json_array_size(group->volumes) == 0)
        return result;
    return controller_collect(api, call->arena, &members, NULL, err);
}

static int destroy(const struct client *api, struct arena *arena, const char *id,
                   struct error *err) {
    return groups_delete(api, arena, id, true, err);
}

static const char *const passing[] = { "creating", "deleting", "updating" };

const struct controller_kind group_kind = {
    .label = "volume group",
    .row_size = sizeof(struct remote_group),
    .passing = passing,
    .passing_count = LENGTH(passing),
    .read = read_one,
    .page = read_page,
    .query = group_query,
    .is_named = is_named,
    .check_delete = check_delete,
    .destroy = destroy,
};

/* ---- change, delete ---- */

static int modify_group(struct grpc_call *call, const void *message, void *response,
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
    if (result == 0 && cluster_in(group.description))
        result = group_check_owner(call, group_kind.label, group.id, group.description, err);
    if (result == 0)
        result = group_read_members(&api, arena, request->volume_ids, request->n_volume_ids,
                                    &members, err);
    if (result == 0)
        result = controller_wait_idle(call, &api, &group_kind, &group, err);
    if (result == 0)
        result =
            group_change(&api, arena, group.id,
                         group_missing(arena, &group, request->volume_ids, request->n_volume_ids),
                         group_surplus(arena, &group, request->volume_ids, request->n_volume_ids),
                         GRPC_INVALID_ARGUMENT, err);
    if (result == 0)
        result = group_again(call, &api, &group, err);
    return result != 0 ? result : group_show(&api, arena, &group, &answer->volume_group, err);
}

static int delete_group(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    const Volumegroup__DeleteVolumeGroupRequest *request = message;
    struct client api = csi_api(call);
    int result = controller_require(request->volume_group_id, "volume_group_id", err);

    (void)response;
    return result != 0 ? result
                       : controller_delete(call, &api, &group_kind, request->volume_group_id, err);
}

/* ---- show and list ---- */

static int get_group(struct grpc_call *call, const void *message, void *response,
                     struct error *err) {
    const Volumegroup__ControllerGetVolumeGroupRequest *request = message;
    Volumegroup__ControllerGetVolumeGroupResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group group;
    int result = controller_require(request->volume_group_id, "volume_group_id", err);

    if (result == 0)
        result =
            controller_read(&api, call->arena, &group_kind, request->volume_group_id, &group, err);
    return result != 0 ? result : group_show(&api, call->arena, &group, &answer->volume_group, err);
}

struct groups_answer {
    const struct client *api;
    struct arena *arena;
    Volumegroup__ListVolumeGroupsResponse *answer;
};

static int keep_group(void *arg, const void *row, struct error *err) {
    const struct groups_answer *to = arg;
    Volumegroup__ListVolumeGroupsResponse__Entry *entry =
        CSI_NEW(to->arena, Volumegroup__ListVolumeGroupsResponse__Entry,
                volumegroup__list_volume_groups_response__entry);

    to->answer->entries[to->answer->n_entries++] = entry;
    return group_show(to->api, to->arena, row, &entry->volume_group, err);
}

static int list_groups(struct grpc_call *call, const void *message, void *response,
                       struct error *err) {
    const Volumegroup__ListVolumeGroupsRequest *request = message;
    Volumegroup__ListVolumeGroupsResponse *answer = response;
    struct client api = csi_api(call);
    struct groups_answer to = { &api, call->arena, answer };
    const struct controller_list list = { .kind = &group_kind,
                                          .max_entries = request->max_entries,
                                          .token = request->starting_token,
                                          .keep = keep_group,
                                          .arg = &to };

    answer->entries =
        arena_alloc(call->arena, controller_most(list.max_entries) * sizeof(*answer->entries));
    return controller_collect(&api, call->arena, &list, &answer->next_token, err);
}

const struct grpc_method csi_volume_group_methods[] = {
    { "CreateVolumeGroup", group_create_call }, { "ModifyVolumeGroupMembership", modify_group },
    { "DeleteVolumeGroup", delete_group },      { "ControllerGetVolumeGroup", get_group },
    { "ListVolumeGroups", list_groups },        { 0 },
};
