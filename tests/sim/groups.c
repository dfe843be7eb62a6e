/*
 * Requests of clients about groups.  A volume joins a new one or one that another is in, leaves it,
 * and goes with it: all volumes that are in a group by then share its fate.
 */
#include "tests/sim/sim.h"

#include <string.h>

#define FIND_GROUP "SELECT group_id FROM volumes WHERE group_id IS NOT NULL AND id = $1"

static int request(struct sim *sim, const char *method, const char *path, const char *body,
                   struct answer *answer) {
    autoarena struct arena *arena = arena_new();

    call_api(sim, SIM_ADMIN, method, path, body, answer);
    return check_answer(sim, arena_format(arena, "%s %s %s", method, path, body), answer);
}

void groups_begin(struct sim *sim) {
    autoanswer struct answer answer = { 0 };

    request(sim, "POST", "/group_types",
            sim->temper.moment ? "{\"group_type\": {\"name\": \"sim\", \"group_specs\": "
                                 "{\"consistent_group_snapshot_enabled\": \"<is> True\"}}}"
                               : "{\"group_type\": {\"name\": \"sim\"}}",
            &answer);
}

static void change(struct sim *sim, struct model *model, const char *group, const char *list) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer = { 0 };

    model_disturb(sim, model->id);
    request(sim, "PUT", arena_format(arena, "/groups/%s", group),
            arena_format(arena, "{\"group\": {\"%s\": \"%s\"}}", list, model->id), &answer);
    model_disturb(sim, model->id);
    model->deleted = false; /* its group may have gone without it */
}

bool group_make(struct sim *sim, char ret[37]) {
    autoanswer struct answer answer = { 0 };

    if (request(sim, "POST", "/groups",
                "{\"group\": {\"group_type\": \"sim\", \"volume_types\": [\"__DEFAULT__\"]}}",
                &answer) <= 0)
        return false;
    memcpy(ret, json_string_value(json_object_get(json_object_get(answer.body, "group"), "id")),
           37);
    return true;
}

void group_join(struct sim *sim, void *arg) {
    struct model *model = arg;
    struct text other =
        look_for(sim, FIND_GROUP, sim->models[sim->temper.moment ? 0 : below(sim, SIM_VOLUMES)].id);

    if (model->joins[0] || look_for(sim, FIND_GROUP, model->id).found[0])
        return;
    if (other.found[0])
        memcpy(model->joins, other.found, sizeof model->joins);
    else if (!group_make(sim, model->joins))
        return;
    change(sim, model, model->joins, "add_volumes");
    model->joins[0] = '\0';
}

void group_leave(struct sim *sim, void *arg) {
    struct model *model = arg;
    struct text group = look_for(sim, FIND_GROUP, model->id);

    if (group.found[0])
        change(sim, model, group.found, "remove_volumes");
}

static bool is_in(struct sim *sim, const struct model *model, const char *group) {
    return model->id[0] && strcmp(look_for(sim, FIND_GROUP, model->id).found, group) == 0;
}

/* Of those that were in it before, and of those that may have joined since. */
static void note_dropped(struct sim *sim, const char *group, int verdict,
                         const unsigned before[SIM_VOLUMES]) {
    for (unsigned i = 0; i < SIM_VOLUMES; i++) {
        struct model *model = &sim->models[i];

        if (before[i] || strcmp(model->joins, group) == 0 || is_in(sim, model, group))
            model_removed(model, verdict, true);
        if (before[i])
            model->deleted = verdict > 0 && before[i] == model->disturbances;
    }
}

void group_drop(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    const struct model *model = arg;
    struct text group = look_for(sim, FIND_GROUP, model->id);
    autoanswer struct answer answer = { 0 };
    unsigned before[SIM_VOLUMES] = { 0 }; /* its disturbances; 0: it was not in there */
    int verdict;

    if (!group.found[0])
        return;
    for (unsigned i = 0; i < SIM_VOLUMES; i++)
        if (is_in(sim, &sim->models[i], group.found)) {
            model_disturb(sim, sim->models[i].id);
            before[i] = sim->models[i].disturbances;
        }
    verdict = request(sim, "POST", arena_format(arena, "/groups/%s/action", group.found),
                      "{\"delete\": {\"delete-volumes\": true}}", &answer);
    note_dropped(sim, group.found, verdict, before);
}

void group_reset(struct sim *sim, void *arg) {
    static const char *const statuses[] = { "available", "error", "deleting", "creating" };
    autoarena struct arena *arena = arena_new();
    const struct model *model = arg;
    struct text group = look_for(sim, FIND_GROUP, model->id);
    autoanswer struct answer answer = { 0 };

    if (group.found[0])
        request(sim, "POST", arena_format(arena, "/groups/%s/action", group.found),
                arena_format(arena, "{\"reset_status\": {\"status\": \"%s\"}}",
                             statuses[below(sim, LENGTH(statuses))]),
                &answer);
}

/* An operator calls the group available, and the volume leaves it. */
void group_check_usable(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();
    struct text group = look_for(sim, FIND_GROUP, volume_id);
    int status;

    if (!group.found[0])
        return;
    ask(sim, "POST", arena_format(arena, "/groups/%s/action", group.found),
        "{\"reset_status\": {\"status\": \"available\"}}", NULL);
    status = ask(sim, "PUT", arena_format(arena, "/groups/%s", group.found),
                 arena_format(arena, "{\"group\": {\"remove_volumes\": \"%s\"}}", volume_id), NULL);
    if (status != 202)
        wrong(sim, "volume %s cannot leave its group at rest: %d", volume_id, status);
}
