/*
 * CSI-Addons' VolumeGroup over generic groups.
 *
 * A group has no metadata: its name is the orchestrator's, and its description identifies the
 * driver; one group has both, as with volumes (controller.private.h).  Creation and adding members
 * are two steps of the API.  Between them the description is another one, which the second step
 * replaces: a repeated call fills such a group, and one that is not filled was never reported, so
 * that any call may delete it.
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

/* ---- the kind ---- */

/* Descriptions; " for CLUSTER" follows if that is configured. */
#define OURS       "made by CSI"
#define UNREPORTED "being made by CSI"
#define FOR        " for "

static const char *description(const struct grpc_call *call, const char *words) {
    const char *cluster = csi_driver_of(call)->cluster;

    return *cluster ? arena_join(call->arena, words, FOR, cluster, NULL) : words;
}

const char *group_description(const struct grpc_call *call) {
    return description(call, OURS);
}

const char *group_description_of_unreported(const struct grpc_call *call) {
    return description(call, UNREPORTED);
}

const char *group_query(struct arena *arena, const char *mark) {
    size_t length;
    const char *cluster, *name = controller_name_in(mark, &cluster, &length);

    return arena_join(arena, "name=", http_encode(arena, name), NULL);
}

/* The cluster in a description that starts with these words; NULL: it is another one. */
static const char *cluster_behind(const char *description, const char *words) {
    const char *rest = description ? description : "";

    if (strncmp(rest, words, strlen(words)) != 0)
        return NULL;
    rest += strlen(words);
    if (!*rest)
        return rest;
    return strncmp(rest, FOR, strlen(FOR)) == 0 ? rest + strlen(FOR) : NULL;
}

/* NULL: not a description of a driver. */
static const char *cluster_in(const char *description) {
    const char *cluster = cluster_behind(description, OURS);

    return cluster ? cluster : cluster_behind(description, UNREPORTED);
}

bool group_is_of_driver(const struct remote_group *group) {
    return cluster_in(group->description) != NULL;
}

bool group_is_described_as_unreported(const struct remote_group *group) {
    return cluster_behind(group->description, UNREPORTED) != NULL;
}

bool group_is_unreported(const struct remote_group *group) {
    return group_is_described_as_unreported(group) && json_array_size(group->volumes) == 0;
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

struct members_check {
    const struct grpc_call *call;
    bool all_ready; /* each is in a lasting status, without leftovers of a publish */
};

static int check_member(void *arg, const void *row, struct error *err) {
    struct members_check *check = arg;
    const struct remote_volume *volume = row;
    int result = controller_check_owner(check->call, volume_kind.label, volume->id,
                                        controller_mark_in(volume->metadata), err);

    if (result == 0 && volume->attachment_count > 0)
        result = grpc_refuse(err, GRPC_FAILED_PRECONDITION, "Volume %s is in use.", volume->id);
    check->all_ready &= !controller_is_being_attached(volume) &&
                        !words_have(volume_kind.passing, volume_kind.passing_count, volume->status);
    return result;
}

static int make_ready(const struct grpc_call *call, const struct client *api, const char *id,
                      struct error *err) {
    struct remote_volume volume;
    int result = controller_read(api, call->arena, &volume_kind, id, &volume, err);

    if (result == 0)
        result = controller_wait_idle(call, api, &volume_kind, &volume, err);
    if (result == 0 && controller_is_being_attached(&volume))
        result = controller_detach_begun(api, call->arena, id, err);
    return result == GRPC_NOT_FOUND ? 0 : result;
}

static const char *of_group(struct arena *arena, const struct remote_group *group) {
    return arena_join(arena, "group_id=", http_encode(arena, group->id), NULL);
}

/* Its volumes are deleted with it: operations on them end first, as deletes of a failed removal
 * of the group. */
static int check_delete(const struct grpc_call *call, const struct client *api, const void *row,
                        struct error *err) {
    const struct remote_group *group = row;
    struct members_check check = { call, true };
    const struct controller_list members = {
        .kind = &volume_kind,
        .query = of_group(call->arena, group),
        .keep = check_member,
        .arg = &check,
    };
    int result = group_check_owner(call, group_kind.label, group->id, group->description, err);

    if (result != 0 || json_array_size(group->volumes) == 0)
        return result;
    result = controller_collect(api, call->arena, &members, NULL, err);
    for (size_t i = 0; result == 0 && !check.all_ready && i < json_array_size(group->volumes); i++)
        result = make_ready(call, api, json_string_value(json_array_get(group->volumes, i)), err);
    return result;
}

struct ending_search {
    const struct client *api;
};

/* 1 ends the list: the volume is a reason that ends by itself, or its snapshots are. */
static int find_ending(void *arg, const void *row, struct error *err) {
    const struct ending_search *search = arg;
    const struct remote_volume *volume = row;
    autoarena struct arena *arena = arena_new();

    (void)err;
    return words_have(volume_kind.passing, volume_kind.passing_count, volume->status) ||
           volume_kind.has_ending_parts(search->api, arena, volume);
}

/* Its group snapshots, its volumes and their snapshots. */
static bool has_ending_parts(const struct client *api, struct arena *arena, const void *row) {
    const char *query = of_group(arena, row);
    struct ending_search search = { api };
    const struct controller_list members = {
        .kind = &volume_kind, .query = query, .keep = find_ending, .arg = &search
    };
    struct error ignored;

    return controller_all_deleted(api, arena, &group_snapshot_kind, query) ||
           controller_collect(api, arena, &members, NULL, &ignored) != 0;
}

static int destroy(const struct client *api, struct arena *arena, const char *id,
                   const char *unreported, struct error *err) {
    (void)unreported;
    return groups_delete(api, arena, id, true, err);
}

int group_remove_empty(const struct client *api, struct arena *arena, const char *id,
                       struct error *err) {
    return groups_delete(api, arena, id, false, err) == 0 || err->kind == ERROR_NOT_FOUND ? 0 : -1;
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
    .has_ending_parts = has_ending_parts,
};

/* ---- delete ---- */

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
    const struct grpc_call *call;
    const struct client *api;
    Volumegroup__ListVolumeGroupsResponse *answer;
    const char *
        *unreported; /* ids of groups without volumes that calls of this cluster have left */
    size_t unreported_count;
};

static int keep_group(void *arg, const void *row, struct error *err) {
    struct groups_answer *to = arg;
    struct arena *arena = to->call->arena;
    const struct remote_group *group = row;
    Volumegroup__ListVolumeGroupsResponse__Entry *entry;
    struct error foreign;

    if (group_is_unreported(group) && group_check_owner(to->call, group_kind.label, group->id,
                                                        group->description, &foreign) == 0) {
        to->unreported[to->unreported_count++] = arena_text(arena, group->id);
        return 0;
    }
    entry = CSI_NEW(arena, Volumegroup__ListVolumeGroupsResponse__Entry,
                    volumegroup__list_volume_groups_response__entry);
    to->answer->entries[to->answer->n_entries++] = entry;
    return group_show(to->api, arena, group, &entry->volume_group, err);
}

/* An unreported group is removed instead, unless the next page starts there.  A
 * create that goes on is repeated. */
static int list_groups(struct grpc_call *call, const void *message, void *response,
                       struct error *err) {
    const Volumegroup__ListVolumeGroupsRequest *request = message;
    Volumegroup__ListVolumeGroupsResponse *answer = response;
    struct client api = csi_api(call);
    struct groups_answer to = { .call = call, .api = &api, .answer = answer };
    const struct controller_list list = { .kind = &group_kind,
                                          .max_entries = request->max_entries,
                                          .token = request->starting_token,
                                          .keep = keep_group,
                                          .arg = &to };
    size_t most = controller_most(list.max_entries);
    struct error ignored;
    int result;

    answer->entries = arena_alloc(call->arena, most * sizeof(*answer->entries));
    to.unreported = arena_alloc(call->arena, most * sizeof(*to.unreported));
    result = controller_collect(&api, call->arena, &list, &answer->next_token, err);
    for (size_t i = 0; i < to.unreported_count && result == 0; i++)
        if (strcmp(to.unreported[i], answer->next_token) != 0)
            group_remove_empty(&api, call->arena, to.unreported[i], &ignored);
    return result;
}

const struct grpc_method csi_volume_group_methods[] = {
    { "CreateVolumeGroup", group_create_call },
    { "ModifyVolumeGroupMembership", group_modify_call },
    { "DeleteVolumeGroup", delete_group },
    { "ControllerGetVolumeGroup", get_group },
    { "ListVolumeGroups", list_groups },
    { 0 },
};
