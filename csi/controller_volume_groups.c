/*
 * CSI-Addons' VolumeGroup over generic groups.
 *
 * A group has no metadata: its name is the orchestrator's, and its description says that it is
 * ours.  The oldest of a name is the one, as with volumes (controller.private.h).  Made and filled
 * are two steps of the API: a group without members that was to have some is filled by whoever
 * finds it.
 */
#include "csi/controller.private.h"

#include "client/groups.h"
#include "client/pools.h"
#include "common/cleanup.h"
#include "common/words.h"

#include <string.h>

#define OURS "made by CSI"

/* ---- what is said of one ---- */

static int read_group(const struct client *api, struct arena *arena, const char *id,
                      struct remote_group *ret, struct error *err) {
    if (groups_read(api, arena, id, ret, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume group %s.", id);
    return -1;
}

static int settled(const struct grpc_call *call, const struct client *api,
                   struct remote_group *group, struct error *err) {
    static const char *const statuses[] = { "creating", "deleting", "updating" };
    struct patience patience = patience_of(call);
    const char *id = group->id;

    while (words_have(statuses, LENGTH(statuses), group->status)) {
        int result;

        if (!patience_again(call, &patience))
            return grpc_refuse(err, GRPC_ABORTED, "Volume group %s is still %s.", id,
                               group->status);
        result = read_group(api, call->arena, id, group, err);
        if (result != 0)
            return result;
    }
    return 0;
}

/* All that the API says of the members are their ids; a list of them has their sizes. */
static int put_members(const struct client *api, struct arena *arena,
                       const struct remote_group *group, Volumegroup__VolumeGroup *shown,
                       struct error *err) {
    const char *query = arena_join(arena, "group_id=", http_encode(arena, group->id), NULL);
    unsigned count;
    char *next;
    void *rows;
    int result;

    if (json_array_size(group->volumes) == 0)
        return 0;
    result = controller_collect(api, arena, &volume_rows, query, 0, "", &rows, &count, &next, err);
    if (result != 0)
        return result;
    shown->volumes = arena_alloc(arena, (count + 1) * sizeof(*shown->volumes));
    shown->n_volumes = count;
    for (unsigned i = 0; i < count; i++)
        shown->volumes[i] = controller_volume(arena, (const struct remote_volume *)rows + i);
    return 0;
}

static int show(const struct client *api, struct arena *arena, const struct remote_group *group,
                Volumegroup__VolumeGroup **ret, struct error *err) {
    Volumegroup__VolumeGroup *shown =
        CONTROLLER_NEW(arena, Volumegroup__VolumeGroup, volumegroup__volume_group__init);
    int result;

    shown->volume_group_id = arena_text(arena, group->id);
    result = put_members(api, arena, group, shown, err);
    if (result == 0)
        *ret = shown;
    return result;
}

static int show_again(const struct client *api, struct arena *arena, const char *id,
                      Volumegroup__VolumeGroup **ret, struct error *err) {
    struct remote_group group;
    int result = read_group(api, arena, id, &group, err);

    return result != 0 ? result : show(api, arena, &group, ret, err);
}

/* ---- members ---- */

static bool has_text(char *const *texts, size_t count, const char *text) {
    return words_have((const char *const *)texts, count, text);
}

static bool has_member(const struct remote_group *group, const char *id) {
    for (size_t i = 0; i < json_array_size(group->volumes); i++) {
        const char *member = json_string_value(json_array_get(group->volumes, i));

        if (member && strcmp(member, id) == 0)
            return true;
    }
    return false;
}

static const char *with_comma(struct arena *arena, const char *list, const char *id) {
    return arena_join(arena, list, *list ? "," : "", id, NULL);
}

/* The wanted ones that are not in it, each once. */
static const char *missing_of(struct arena *arena, const struct remote_group *group,
                              char *const *ids, size_t count) {
    const char *list = "";

    for (size_t i = 0; i < count; i++)
        if (!has_member(group, ids[i]) && !has_text(ids, i, ids[i]))
            list = with_comma(arena, list, ids[i]);
    return list;
}

static const char *surplus_of(struct arena *arena, const struct remote_group *group,
                              char *const *ids, size_t count) {
    const char *list = "";

    for (size_t i = 0; i < json_array_size(group->volumes); i++) {
        const char *member = json_string_value(json_array_get(group->volumes, i));

        if (member && !has_text(ids, count, member))
            list = with_comma(arena, list, member);
    }
    return list;
}

/* The volumes that the ids name; an id is brought into the form that the API shows. */
static int read_members(const struct client *api, struct arena *arena, char **ids, size_t count,
                        struct remote_volume **ret, struct error *err) {
    struct remote_volume *volumes = arena_alloc(arena, (count + 1) * sizeof(*volumes));

    for (size_t i = 0; i < count; i++) {
        int result = controller_need(ids[i], "A volume id", err);

        if (result == 0)
            result = controller_read_volume(api, arena, ids[i], &volumes[i], err);
        if (result != 0)
            return result;
        ids[i] = arena_text(arena, volumes[i].id);
    }
    *ret = volumes;
    return 0;
}

/* One change of all; a refusal has changed nothing.  `code`: what it means when they do not fit. */
static int change(const struct client *api, struct arena *arena, const char *id, const char *add,
                  const char *removed, enum grpc_code code, struct error *err) {
    if ((!*add && !*removed) || groups_change(api, arena, id, add, removed, err) == 0)
        return 0;
    if (err->kind == ERROR_NOT_FOUND)
        return grpc_refuse(err, GRPC_NOT_FOUND, "There is no volume group %s.", id);
    if (err->kind != ERROR_BAD_REQUEST)
        return -1;
    return grpc_refuse(err, code, "%s", err->message);
}

/* ---- create ---- */

struct wanted {
    const Volumegroup__CreateVolumeGroupRequest *request;
    struct remote_group_new group;
    const struct remote_volume *members;
};

static void add_type(struct remote_group_new *group, const char **types, const char *type) {
    if (type && *type && !words_have(types, group->volume_type_count, type))
        types[group->volume_type_count++] = type;
}

/* Those that are named, else those of the first members. */
static void find_types(struct arena *arena, struct wanted *wanted, const char *named) {
    size_t room = wanted->request->n_volume_ids + (named ? strlen(named) : 0) + 1;
    const char **types = arena_alloc(arena, room * sizeof(*types));
    char *rest = arena_text(arena, named);

    while (rest)
        add_type(&wanted->group, types, strsep(&rest, ","));
    for (size_t i = 0; i < wanted->request->n_volume_ids && !named; i++)
        add_type(&wanted->group, types, wanted->members[i].type);
    wanted->group.volume_types = types;
}

static int find_default_type(const struct client *api, struct arena *arena,
                             struct remote_group_new *group, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/types/default" };
    const json_t *type;
    const char **types;

    if (group->volume_type_count > 0)
        return 0;
    type = client_ask_for(api, arena, &call, "volume_type", err);
    if (!type)
        return -1;
    types = arena_alloc(arena, sizeof(*types));
    types[0] = json_text_of(type, "id");
    group->volume_types = types;
    group->volume_type_count = types[0] ? 1 : 0;
    return 0;
}

/* The only one there is, if none is named. */
static int find_group_type(const struct client *api, struct arena *arena,
                           struct remote_group_new *group, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/group_types" };
    const json_t *list;

    if (group->group_type)
        return 0;
    list = client_ask_for(api, arena, &call, "group_types", err);
    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text_of(json_array_get(list, i), "name");

        if (!name || strcmp(name, "default_cgsnapshot_type") == 0)
            continue;
        if (group->group_type)
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                               "There are several group types: parameter group_type is needed.");
        group->group_type = name;
    }
    return group->group_type
               ? 0
               : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no group type to make one of.");
}

static int read_request(const struct client *api, struct arena *arena,
                        const Volumegroup__CreateVolumeGroupRequest *request, struct wanted *ret,
                        struct error *err) {
    struct wanted wanted = { .request = request,
                             .group = { .name = request->name, .description = OURS } };
    struct remote_volume *members = NULL;
    const char *types = NULL;
    int result = controller_need(request->name, "name", err);

    for (size_t i = 0; i < request->n_parameters && result == 0; i++) {
        const char *key = request->parameters[i]->key, *value = request->parameters[i]->value;

        if (strcmp(key, "group_type") == 0)
            wanted.group.group_type = value;
        else if (strcmp(key, "volume_types") == 0)
            types = value;
        else
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.", key);
    }
    if (result == 0)
        result =
            read_members(api, arena, request->volume_ids, request->n_volume_ids, &members, err);
    if (result != 0)
        return result;
    wanted.members = members;
    find_types(arena, &wanted, types);
    *ret = wanted;
    return 0;
}

/* The oldest; 1 when there is one. */
static int find(const struct client *api, struct arena *arena, const char *name,
                struct remote_group *ret, struct error *err) {
    const char *query =
        arena_join(arena, "name=", http_encode(arena, name), "&sort=created_at:asc,id:asc", NULL);
    struct remote_group *groups = NULL;
    int count = groups_list(api, arena, query, NULL, 0, &groups, err);

    for (int i = 0; i < count; i++)
        if (groups[i].name && strcmp(groups[i].name, name) == 0 && groups[i].description &&
            strcmp(groups[i].description, OURS) == 0) {
            *ret = groups[i];
            return 1;
        }
    return count < 0 ? -1 : 0;
}

/* Without its volumes, which there are none of. */
static int take_back(const struct client *api, struct arena *arena, const char *id,
                     struct error *err) {
    return groups_delete(api, arena, id, false, err) == 0 || err->kind == ERROR_NOT_FOUND ? 0 : -1;
}

static int make(const struct client *api, struct arena *arena, struct wanted *wanted,
                struct remote_group *ret, struct error *err) {
    const char *mine;
    int result = find_group_type(api, arena, &wanted->group, err);

    if (result == 0)
        result = find_default_type(api, arena, &wanted->group, err);
    if (result != 0)
        return result;
    if (groups_create(api, arena, &wanted->group, &mine, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message)
                   : -1;
    result = find(api, arena, wanted->group.name, ret, err);
    if (result < 0)
        return -1;
    if (result == 0)
        return grpc_refuse(err, GRPC_ABORTED, "Volume group %s is gone again.", mine);
    return strcmp(ret->id, mine) == 0 ? 0 : take_back(api, arena, mine, err);
}

static int check_same(const struct client *api, struct arena *arena, const struct wanted *wanted,
                      const struct remote_group *group, struct error *err) {
    const Volumegroup__CreateVolumeGroupRequest *request = wanted->request;

    (void)api;
    if (json_array_size(group->volumes) > 0 &&
        (*missing_of(arena, group, request->volume_ids, request->n_volume_ids) ||
         *surplus_of(arena, group, request->volume_ids, request->n_volume_ids)))
        return grpc_refuse(err, GRPC_ALREADY_EXISTS,
                           "Volume group %s has the name already, with other volumes.", group->id);
    return 0;
}

/* Of one that is empty only: nobody may have heard of it, and it has no volumes. */
static int fill(const struct client *api, struct arena *arena, const struct wanted *wanted,
                const struct remote_group *group, bool made, struct error *err) {
    const char *add =
        missing_of(arena, group, wanted->request->volume_ids, wanted->request->n_volume_ids);
    struct error ignored;
    int result = change(api, arena, group->id, add, "", GRPC_FAILED_PRECONDITION, err);

    if (result == GRPC_FAILED_PRECONDITION && made)
        take_back(api, arena, group->id, &ignored);
    return result;
}

static int create_group(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    Volumegroup__CreateVolumeGroupResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group group;
    struct wanted wanted;
    bool made = false;
    int result = read_request(&api, call->arena, message, &wanted, err);

    if (result != 0)
        return result;
    result = find(&api, call->arena, wanted.group.name, &group, err);
    if (result < 0)
        return -1;
    if (result == 0) {
        result = make(&api, call->arena, &wanted, &group, err);
        made = true;
    } else {
        result = check_same(&api, call->arena, &wanted, &group, err);
    }
    if (result == 0)
        result = settled(call, &api, &group, err);
    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The group of this name has just been deleted.");
    if (result == 0 && strcmp(group.status, "error") == 0) {
        take_back(&api, call->arena, group.id, err);
        return grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED, "No backend takes the group's types.");
    }
    if (result == 0)
        result = fill(&api, call->arena, &wanted, &group, made, err);
    return result != 0 ? result
                       : show_again(&api, call->arena, group.id, &answer->volume_group, err);
}

/* ---- change, delete ---- */

static int modify_group(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    const Volumegroup__ModifyVolumeGroupMembershipRequest *request = message;
    Volumegroup__ModifyVolumeGroupMembershipResponse *answer = response;
    struct client api = csi_api(call);
    struct arena *arena = call->arena;
    struct remote_volume *members;
    struct remote_group group;
    int result = controller_need(request->volume_group_id, "volume_group_id", err);

    if (result == 0 && request->n_parameters > 0)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.",
                             request->parameters[0]->key);
    if (result == 0)
        result = read_group(&api, arena, request->volume_group_id, &group, err);
    if (result == 0)
        result =
            read_members(&api, arena, request->volume_ids, request->n_volume_ids, &members, err);
    if (result == 0)
        result = settled(call, &api, &group, err);
    if (result == 0)
        result = change(&api, arena, group.id,
                        missing_of(arena, &group, request->volume_ids, request->n_volume_ids),
                        surplus_of(arena, &group, request->volume_ids, request->n_volume_ids),
                        GRPC_INVALID_ARGUMENT, err);
    return result != 0 ? result : show_again(&api, arena, group.id, &answer->volume_group, err);
}

static int delete_group(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    const Volumegroup__DeleteVolumeGroupRequest *request = message;
    struct client api = csi_api(call);
    struct remote_group group;
    int result = controller_need(request->volume_group_id, "volume_group_id", err);

    (void)response;
    if (result == 0)
        result = read_group(&api, call->arena, request->volume_group_id, &group, err);
    if (result == 0 && strcmp(group.status, "deleting") != 0) {
        if (groups_delete(&api, call->arena, group.id, true, err) < 0)
            result = err->kind == ERROR_NOT_FOUND ? 0 : controller_refused(err);
        if (result == 0)
            result = read_group(&api, call->arena, group.id, &group, err);
    }
    if (result == 0)
        result = settled(call, &api, &group, err);
    if (result == GRPC_NOT_FOUND)
        return 0;
    return result != 0
               ? result
               : grpc_refuse(err, GRPC_INTERNAL, "Volume group %s could not be deleted: it is %s.",
                             group.id, group.status);
}

/* ---- show and list ---- */

static int get_group(struct grpc_call *call, const void *message, void *response,
                     struct error *err) {
    const Volumegroup__ControllerGetVolumeGroupRequest *request = message;
    Volumegroup__ControllerGetVolumeGroupResponse *answer = response;
    struct client api = csi_api(call);
    int result = controller_need(request->volume_group_id, "volume_group_id", err);

    return result != 0 ? result
                       : show_again(&api, call->arena, request->volume_group_id,
                                    &answer->volume_group, err);
}

static int group_page(const struct client *api, struct arena *arena, const char *query,
                      const char *marker, unsigned limit, void **ret, struct error *err) {
    struct remote_group *groups = NULL;
    int count = groups_list(api, arena, query, marker, limit, &groups, err);

    *ret = groups;
    return count;
}

static int list_groups(struct grpc_call *call, const void *message, void *response,
                       struct error *err) {
    static const struct controller_list group_rows = { group_page, sizeof(struct remote_group) };
    const Volumegroup__ListVolumeGroupsRequest *request = message;
    Volumegroup__ListVolumeGroupsResponse *answer = response;
    struct client api = csi_api(call);
    const struct remote_group *groups;
    unsigned count;
    void *rows;
    int result =
        controller_collect(&api, call->arena, &group_rows, NULL, request->max_entries,
                           request->starting_token, &rows, &count, &answer->next_token, err);

    if (result != 0)
        return result;
    groups = rows;
    answer->entries = arena_alloc(call->arena, (count + 1) * sizeof(*answer->entries));
    answer->n_entries = count;
    for (unsigned i = 0; i < count && result == 0; i++) {
        answer->entries[i] =
            CONTROLLER_NEW(call->arena, Volumegroup__ListVolumeGroupsResponse__Entry,
                           volumegroup__list_volume_groups_response__entry__init);
        result = show(&api, call->arena, &groups[i], &answer->entries[i]->volume_group, err);
    }
    return result;
}

const struct grpc_method csi_volume_group_methods[] = {
    { "CreateVolumeGroup", create_group }, { "ModifyVolumeGroupMembership", modify_group },
    { "DeleteVolumeGroup", delete_group }, { "ControllerGetVolumeGroup", get_group },
    { "ListVolumeGroups", list_groups },   { 0 },
};
