/*
 * CreateVolumeGroup: one group for a name (volume_groups.c).
 */
#include "csi/controller/groups.private.h"

#include "client/pools.h"
#include "common/words.h"
#include "json/json.h"

#include <string.h>

struct requested {
    const Volumegroup__CreateVolumeGroupRequest *request;
    const char *mark; /* of its name */
    struct remote_group_new group;
    const char *group_type, *volume_types; /* as given by parameters; NULL: none */
    const struct remote_volume *members;
};

#define MADE "__DEFAULT__" /* created by the service at its start */

static int no_group_type(struct error *err) {
    return grpc_refuse(
        err, GRPC_INVALID_ARGUMENT,
        "No group type given by parameter group_type and no default group type is configured.");
}

static void add_type(struct remote_group_new *group, const char **types, const char *type) {
    if (type && *type && !words_have(types, group->volume_type_count, type))
        types[group->volume_type_count++] = type;
}

/* The given ones, otherwise those of the initial members. */
static void find_types(struct arena *arena, struct requested *requested) {
    const char *named = requested->volume_types;
    size_t most = requested->request->n_volume_ids + (named ? strlen(named) : 0) + 1;
    const char **types = arena_alloc(arena, most * sizeof(*types));
    char *rest = arena_text(arena, named);

    while (rest)
        add_type(&requested->group, types, strsep(&rest, ","));
    for (size_t i = 0; i < requested->request->n_volume_ids && !named; i++)
        add_type(&requested->group, types, requested->members[i].type);
    requested->group.volume_types = types;
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

/* The name of the only type beside the predefined ones; NULL: none or several. */
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

/* The given type, otherwise the configured default, otherwise the only type, otherwise the
 * predefined one. */
static int find_group_type(const struct client *api, struct arena *arena,
                           struct remote_group_new *group, struct error *err) {
    const char *usual, *only = NULL;
    const struct client_call call = { .method = "GET", .path = "/group_types/default" };
    const json_t *type;

    if (group->group_type)
        return 0;
    /* The name of the service's default type; "": none. */
    type = client_ask_for(api, arena, &call, "group_type", err);
    if (!type && err->kind != ERROR_NOT_FOUND)
        return -1;
    usual = arena_text(arena, type ? json_text_of(type, "name") : "");
    if (!usual)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API returned an invalid group type");
    if ((!*usual || strcmp(usual, MADE) == 0) && read_only_one(api, arena, &only, err) < 0)
        return -1;
    group->group_type = only ? only : *usual ? usual : NULL;
    return group->group_type ? 0 : no_group_type(err);
}

static int read_request(const struct grpc_call *call, const struct client *api,
                        const Volumegroup__CreateVolumeGroupRequest *request, struct requested *ret,
                        struct error *err) {
    struct arena *arena = call->arena;
    struct requested requested = {
        .request = request,
        .mark = controller_mark(call, request->name),
        .group = { .name = request->name,
                   .description = request->n_volume_ids > 0 ? group_description_of_unreported(call)
                                                            : group_description(call) }
    };
    struct remote_volume *members = NULL;
    int result = controller_require(request->name, "name", err);

    for (size_t i = 0; i < request->n_parameters && result == 0; i++) {
        const char *key = request->parameters[i]->key, *value = request->parameters[i]->value;

        if (strcmp(key, "group_type") == 0)
            requested.group_type = requested.group.group_type = value;
        else if (strcmp(key, "volume_types") == 0)
            requested.volume_types = value;
        else
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no parameter %s.", key);
    }
    if (result == 0)
        result = group_read_members(api, arena, request->volume_ids, request->n_volume_ids,
                                    &members, err);
    if (result != 0)
        return result;
    requested.members = members;
    find_types(arena, &requested);
    *ret = requested;
    return 0;
}

/* ---- groups with the name ---- */

static int take_back(const struct client *api, struct arena *arena, const char *id,
                     struct error *err) {
    return controller_outcome_unknown(group_remove_empty(api, arena, id, err), err);
}

/* The repeated call makes another one. */
static int drop(const struct client *api, struct arena *arena, const struct remote_group *group,
                struct error *err) {
    int result = take_back(api, arena, group->id, err);

    return result != 0 ? result
                       : grpc_refuse(err, GRPC_ABORTED,
                                     "Volume group %s of this name was incomplete and is deleted.",
                                     group->id);
}

static int make(const struct client *api, struct arena *arena, struct requested *requested,
                struct remote_group *ret, bool *ret_is_mine, struct error *err) {
    const char *mine;
    int result = find_group_type(api, arena, &requested->group, err);

    if (result == 0)
        result = find_default_type(api, arena, &requested->group, err);
    if (result != 0)
        return result;
    if (groups_create(api, arena, &requested->group, &mine, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message)
                   : -1;
    result =
        controller_find_made(api, arena, &group_kind, requested->mark, mine, ret, ret_is_mine, err);
    return result != 0 || *ret_is_mine ? result : take_back(api, arena, mine, err);
}

static int differs(const struct remote_group *group, const char *what, struct error *err) {
    return grpc_refuse(err, GRPC_ALREADY_EXISTS,
                       "Volume group %s already has the name, with other %s.", group->id, what);
}

/* A parameter has an id or a name, the group has the id. */
static int check_group_type(const struct client *api, struct arena *arena, const char *named,
                            const struct remote_group *group, struct error *err) {
    struct remote_type type;

    if (!named)
        return 0;
    if (group_types_find(api, arena, named, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? no_group_type(err)
                                            : controller_outcome_unknown(-1, err);
    return group->group_type && strcmp(type.id, group->group_type) == 0
               ? 0
               : differs(group, "parameters", err);
}

static int check_volume_types(const struct client *api, struct arena *arena,
                              const struct requested *requested, const struct remote_group *group,
                              struct error *err) {
    unsigned count = requested->volume_types ? requested->group.volume_type_count : 0;
    const char **ids = arena_alloc(arena, (count + 1) * sizeof(*ids));
    struct remote_type type;
    unsigned known = 0;

    for (unsigned i = 0; i < count; i++) {
        if (types_find(api, arena, requested->group.volume_types[i], &type, err) < 0)
            return err->kind == ERROR_NOT_FOUND
                       ? grpc_refuse(err, GRPC_INVALID_ARGUMENT, "There is no volume type %s.",
                                     requested->group.volume_types[i])
                       : controller_outcome_unknown(-1, err);
        if (!words_have(ids, known, type.id))
            ids[known++] = type.id;
        if (!json_list_has(group->volume_types, type.id))
            return differs(group, "parameters", err);
    }
    return known == 0 || known == json_array_size(group->volume_types)
               ? 0
               : differs(group, "parameters", err);
}

/* A request without volumes accepts any: the group may have been created empty, and filled
 * since. */
static int check_members(struct arena *arena, const struct requested *requested,
                         const struct remote_group *group, struct error *err) {
    const Volumegroup__CreateVolumeGroupRequest *request = requested->request;

    if (request->n_volume_ids > 0 && json_array_size(group->volumes) > 0 &&
        (*group_missing(arena, group, request->volume_ids, request->n_volume_ids) ||
         *group_surplus(arena, group, request->volume_ids, request->n_volume_ids)))
        return differs(group, "volumes", err);
    return 0;
}

static int check_same(const struct client *api, struct arena *arena,
                      const struct requested *requested, const struct remote_group *group,
                      struct error *err) {
    int result = check_group_type(api, arena, requested->group_type, group, err);

    if (result == 0)
        result = check_volume_types(api, arena, requested, group, err);
    return result != 0 ? result : check_members(arena, requested, group, err);
}

/* Checks a group of the name that may be another call's: an unreported one of other parameters, or
 * for a request without volumes, is replaced. */
static int ready(const struct grpc_call *call, const struct client *api,
                 const struct requested *requested, struct remote_group *group, bool is_mine,
                 struct error *err) {
    int result = controller_wait_idle(call, api, &group_kind, group, err);

    if (result == GRPC_NOT_FOUND)
        return grpc_refuse(err, GRPC_ABORTED, "The group of this name has just been deleted.");
    if (result != 0)
        return controller_outcome_unknown(result, err);
    if (strcmp(group->status, "error") == 0 && json_array_size(group->volumes) == 0) {
        if (!is_mine)
            return drop(api, call->arena, group, err);
        result = take_back(api, call->arena, group->id, err);
        return result != 0 ? result
                           : grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED,
                                         "No backend supports the group's types.");
    }
    if (strcmp(group->status, "available") != 0)
        return grpc_refuse(err, GRPC_ABORTED,
                           "Volume group %s of this name is %s: it can only be deleted.", group->id,
                           group->status);
    if (is_mine)
        return 0;
    if (group_is_unreported(group) && requested->request->n_volume_ids == 0)
        return drop(api, call->arena, group, err);
    result = check_same(api, call->arena, requested, group, err);
    return result == GRPC_ALREADY_EXISTS && group_is_unreported(group)
               ? drop(api, call->arena, group, err)
               : result;
}

/* Only an empty group is filled.  The types of one that is another call's may be those of other
 * volumes. */
static int fill(const struct grpc_call *call, const struct client *api,
                const struct requested *requested, const struct remote_group *group, bool is_mine,
                struct error *err) {
    int result =
        group_change(call, api, group, requested->request->volume_ids,
                     requested->request->n_volume_ids, false, GRPC_FAILED_PRECONDITION, err);

    if (result != GRPC_FAILED_PRECONDITION && result != GRPC_INTERNAL)
        return controller_outcome_unknown(result, err);
    return !is_mine && group_is_unreported(group) ? drop(api, call->arena, group, err) : result;
}

static int create_group(const struct grpc_call *call, const struct client *api,
                        const Volumegroup__CreateVolumeGroupRequest *request,
                        Volumegroup__VolumeGroup **ret, struct error *err) {
    struct arena *arena = call->arena;
    struct remote_group group;
    struct requested requested;
    bool is_mine = false;
    int result = read_request(call, api, request, &requested, err);

    if (result != 0)
        return result;
    result = controller_find(api, arena, &group_kind, requested.mark, &group, err);
    if (result == 0)
        result = make(api, arena, &requested, &group, &is_mine, err);
    else if (result == FOUND)
        result = 0;
    if (result == 0)
        result = ready(call, api, &requested, &group, is_mine, err);
    if (result == 0)
        result = fill(call, api, &requested, &group, is_mine, err);
    if (result == 0)
        result = controller_outcome_unknown(group_again(call, api, &group, err), err);
    /* A concurrent call may have filled it, or emptied it. */
    if (result == 0)
        result = check_members(arena, &requested, &group, err);
    if (result == 0 && request->n_volume_ids > 0)
        result =
            group_check_members(arena, &group, request->volume_ids, request->n_volume_ids, err);
    return result != 0 ? result
                       : controller_outcome_unknown(group_show(api, arena, &group, ret, err), err);
}

/* After a final refusal no call may follow: the unreported group of the name is deleted. */
int group_create_call(struct grpc_call *call, const void *message, void *response,
                      struct error *err) {
    const Volumegroup__CreateVolumeGroupRequest *request = message;
    Volumegroup__CreateVolumeGroupResponse *answer = response;
    struct client api = csi_api(call);
    int result = create_group(call, &api, request, &answer->volume_group, err), found;
    enum grpc_code code = result == 0 ? GRPC_OK : grpc_code_of(result, err);
    struct error refusal = *err;
    struct remote_group group;

    if (code == GRPC_OK || code == GRPC_ABORTED || code == GRPC_UNAVAILABLE || !*request->name)
        return result;
    found = controller_find(&api, call->arena, &group_kind, controller_mark(call, request->name),
                            &group, err);
    if (found == FOUND)
        found = group_is_unreported(&group) ? take_back(&api, call->arena, group.id, err) : 0;
    if (found != 0)
        return found;
    *err = refusal;
    return result;
}
