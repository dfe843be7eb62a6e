/*
 * CreateVolumeGroup: one group for one name (volume_groups.c).
 */
#include "csi/controller/groups.private.h"

#include "client/pools.h"
#include "common/words.h"

#include <string.h>

struct wanted {
    const Volumegroup__CreateVolumeGroupRequest *request;
    const char *mark; /* its name */
    struct remote_group_new group;
    const char *group_type, *volume_types; /* as parameters name them; NULL: none does */
    const struct remote_volume *members;
};

#define MADE "__DEFAULT__" /* by the service, at its start */

static int no_group_type(struct error *err) {
    return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                       "No group type is given by parameter group_type, and the service has no "
                       "default group type.");
}

static void add_type(struct remote_group_new *group, const char **types, const char *type) {
    if (type && *type && !words_have(types, group->volume_type_count, type))
        types[group->volume_type_count++] = type;
}

/* Those that are named, else those of the first members. */
static void find_types(struct arena *arena, struct wanted *wanted) {
    const char *named = wanted->volume_types;
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

/* What the service calls the default: its name; "" there is none. */
static int read_default(const struct client *api, struct arena *arena, const char **ret,
                        struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/group_types/default" };
    const json_t *type = client_ask_for(api, arena, &call, "group_type", err);

    if (!type && err->kind != ERROR_NOT_FOUND)
        return -1;
    *ret = arena_text(arena, type ? json_text_of(type, "name") : "");
    return *ret ? 0 : error_set(err, ERROR_UNAVAILABLE, "the volume API described no group type");
}

/* The only one beside those that every service has from the start: its name; NULL: there are none
 * or several. */
static int read_only_one(const struct client *api, struct arena *arena, const char **ret,
                         struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/group_types" };
    const json_t *list = client_ask_for(api, arena, &call, "group_types", err);
    size_t count = 0;

    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text_of(json_array_get(list, i), "name");

        if (!name || strcmp(name, "default_cgsnapshot_type") == 0 || strcmp(name, MADE) == 0)
            continue;
        *ret = count++ == 0 ? name : NULL;
    }
    return 0;
}

/* If none is named: the default that was configured, else the only one that was made, else the one
 * that is there from the start. */
static int find_group_type(const struct client *api, struct arena *arena,
                           struct remote_group_new *group, struct error *err) {
    const char *usual = NULL, *only = NULL;

    if (group->group_type)
        return 0;
    if (read_default(api, arena, &usual, err) < 0)
        return -1;
    if ((!*usual || strcmp(usual, MADE) == 0) && read_only_one(api, arena, &only, err) < 0)
        return -1;
    group->group_type = only ? only : *usual ? usual : NULL;
    return group->group_type ? 0 : no_group_type(err);
}

static int read_request(const struct grpc_call *call, const struct client *api,
                        const Volumegroup__CreateVolumeGroupRequest *request, struct wanted *ret,
                        struct error *err) {
    struct arena *arena = call->arena;
    struct wanted wanted = { .request = request,
                             .mark = controller_mark(call, request->name),
                             .group = { .name = request->name,
                                        .description = group_description(call) } };
    struct remote_volume *members = NULL;
    int result = controller_need(request->name, "name", err);

    for (size_t i = 0; i < request->n_parameters && result == 0; i++) {
        const char *key = request->parameters[i]->key, *value = request->parameters[i]->value;

        if (strcmp(key, "group_type") == 0)
            wanted.group_type = wanted.group.group_type = value;
        else if (strcmp(key, "volume_types") == 0)
            wanted.volume_types = value;
        else
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.", key);
    }
    if (result == 0)
        result = group_read_members(api, arena, request->volume_ids, request->n_volume_ids,
                                    &members, err);
    if (result != 0)
        return result;
    wanted.members = members;
    find_types(arena, &wanted);
    *ret = wanted;
    return 0;
}

/* ---- one of the name ---- */

/* Without its volumes, which there are none of. */
static int take_back(const struct client *api, struct arena *arena, const char *id,
                     struct error *err) {
    return groups_delete(api, arena, id, false, err) == 0 || err->kind == ERROR_NOT_FOUND ? 0 : -1;
}

static int make(const struct client *api, struct arena *arena, struct wanted *wanted,
                struct remote_group *ret, bool *ret_is_mine, struct error *err) {
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
    result =
        controller_find_made(api, arena, &group_kind, wanted->mark, mine, ret, ret_is_mine, err);
    return result != 0 || *ret_is_mine ? result
                                       : controller_unsure(take_back(api, arena, mine, err), err);
}

static int differs(const struct remote_group *group, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS,
                       "Volume group %s has the name already, with other %s.", group->id, what);
}

/* A parameter has an id or a name, the group the id. */
static int check_group_type(const struct client *api, struct arena *arena, const char *named,
                            const struct remote_group *group, struct error *err) {
    struct remote_type type;

    if (!named)
        return 0;
    if (group_types_find(api, arena, named, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? no_group_type(err) : controller_unsure(-1, err);
    return group->group_type && strcmp(type.id, group->group_type) == 0
               ? 0
               : differs(group, "parameters", err);
}

static int check_volume_types(const struct client *api, struct arena *arena,
                              const struct wanted *wanted, const struct remote_group *group,
                              struct error *err) {
    unsigned count = wanted->volume_types ? wanted->group.volume_type_count : 0;
    const char **ids = arena_alloc(arena, (count + 1) * sizeof(*ids));
    struct remote_type type;
    unsigned known = 0;

    for (unsigned i = 0; i < count; i++) {
        if (types_find(api, arena, wanted->group.volume_types[i], &type, err) < 0)
            return err->kind == ERROR_NOT_FOUND
                       ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no volume type %s.",
                                     wanted->group.volume_types[i])
                       : controller_unsure(-1, err);
        if (!words_have(ids, known, type.id))
            ids[known++] = type.id;
        if (!group_has(group->volume_types, type.id))
            return differs(group, "parameters", err);
    }
    return known == 0 || known == json_array_size(group->volume_types)
               ? 0
               : differs(group, "parameters", err);
}

/* Who names no volumes asks for nothing of them: it may have been made so, and filled since. */
static int check_members(struct arena *arena, const struct wanted *wanted,
                         const struct remote_group *group, struct error *err) {
    const Volumegroup__CreateVolumeGroupRequest *request = wanted->request;

    if (request->n_volume_ids > 0 && json_array_size(group->volumes) > 0 &&
        (*group_missing(arena, group, request->volume_ids, request->n_volume_ids) ||
         *group_surplus(arena, group, request->volume_ids, request->n_volume_ids)))
        return differs(group, "volumes", err);
    return 0;
}

static int check_same(const struct client *api, struct arena *arena, const struct wanted *wanted,
                      const struct remote_group *group, struct error *err) {
    int result = check_group_type(api, arena, wanted->group_type, group, err);

    if (result == 0)
        result = check_volume_types(api, arena, wanted, group, err);
    return result != 0 ? result : check_members(arena, wanted, group, err);
}

static const char *missing(struct arena *arena, const struct wanted *wanted,
                           const struct remote_group *group) {
    return group_missing(arena, group, wanted->request->volume_ids, wanted->request->n_volume_ids);
}

/* Of one that is empty only.  Another call may do the same; of ours, which is taken back, nobody
 * has heard. */
static int fill(const struct client *api, struct arena *arena, const struct wanted *wanted,
                const struct remote_group *group, bool is_mine, struct error *err) {
    const char *add = missing(arena, wanted, group);
    int result = group_change(api, arena, group->id, add, "", GRPC_FAILED_PRECONDITION, err);
    struct remote_group now;
    struct error other;

    if (result != GRPC_FAILED_PRECONDITION)
        return result;
    if (controller_read(api, arena, &group_kind, group->id, &now, &other) == 0 &&
        !*missing(arena, wanted, &now))
        return 0;
    if (is_mine)
        take_back(api, arena, group->id, &other);
    return result;
}

int group_create_call(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    Volumegroup__CreateVolumeGroupResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_group group;
    struct wanted wanted;
    bool is_mine = false;
    int result = read_request(call, &api, message, &wanted, err);

    if (result != 0)
        return result;
    result = controller_find(&api, call->arena, &group_kind, wanted.mark, &group, err);
    if (result == 0)
        result = make(&api, call->arena, &wanted, &group, &is_mine, err);
    if ((result == 0 && !is_mine) || result == FOUND)
        result = check_same(&api, call->arena, &wanted, &group, err);
    if (result == 0)
        result = controller_settle(call, &api, &group_kind, &group, err);
    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The group of this name has just been deleted.");
    if (result == 0 && strcmp(group.status, "error") == 0) {
        take_back(&api, call->arena, group.id, err);
        return grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED, "No backend takes the group's types.");
    }
    if (result == 0)
        result = fill(&api, call->arena, &wanted, &group, is_mine, err);
    if (result == 0)
        result = group_again(call, &api, &group, err);
    if (result == 0)
        result = check_members(call->arena, &wanted, &group, err); /* others may fill it, too */
    return result != 0 ? result : group_show(&api, call->arena, &group, &answer->volume_group, err);
}
