/*
 * What clients ask for about groups.  Each volume has a group of its own, if any, so that what
 * becomes of the group is what becomes of the volume; it joins, leaves, and goes with it.
 */
#include "tests/sim/sim.h"

#include <string.h>

#define FIND_GROUP "SELECT group_id FROM volumes WHERE group_id IS NOT NULL AND id = $1"

static int request(struct sim *sim, const char *method, const char *path, const char *body,
                   struct answer *answer) {
    autoarena struct arena *arena = arena_new();

    call_api(sim, SIM_ADMIN, method, path, body, answer);
    return judge_answer(sim, arena_format(arena, "%s %s %s", method, path, body), answer);
}

void groups_begin(struct sim *sim) {
    autoanswer struct answer answer = { 0 };

    request(sim, "POST", "/group_types", "{\"group_type\": {\"name\": \"sim\"}}", &answer);
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

void group_join(struct sim *sim, void *arg) {
    struct model *model = arg;
    autoanswer struct answer answer = { 0 };
    char id[37] = "";

    if (look_for(sim, FIND_GROUP, model->id).found[0] ||
        request(sim, "POST", "/groups",
                "{\"group\": {\"group_type\": \"sim\", \"volume_types\": [\"__DEFAULT__\"]}}",
                &answer) <= 0)
        return;
    memcpy(id, json_string_value(json_object_get(json_object_get(answer.body, "group"), "id")),
           sizeof id);
    change(sim, model, id, "add_volumes");
}

void group_leave(struct sim *sim, void *arg) {
    struct model *model = arg;
    struct text group = look_for(sim, FIND_GROUP, model->id);

    if (group.found[0])
        change(sim, model, group.found, "remove_volumes");
}

void group_drop(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct model *model = arg;
    struct text group = look_for(sim, FIND_GROUP, model->id);
    autoanswer struct answer answer = { 0 };
    unsigned before;
    int verdict;

    if (!group.found[0])
        return;
    model_disturb(sim, model->id);
    before = model->disturbances;
    verdict = request(sim, "POST", arena_format(arena, "/groups/%s/action", group.found),
                      "{\"delete\": {\"delete-volumes\": true}}", &answer);
    model->removed |= verdict != 0;
    model->deleted = verdict > 0 && before == model->disturbances;
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
