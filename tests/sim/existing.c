/*
 * Requests of clients about existing storage: a volume is unmanaged, and an object, possibly one of
 * those, is managed.
 */
#include "tests/lib/memory_guests.h"
#include "tests/sim/sim.h"

#include <string.h>

void volume_let_go(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer = { 0 };
    struct model *model = arg;
    unsigned before;
    int verdict;

    model_disturb(sim, model->id);
    before = model->disturbances;
    call_api(sim, SIM_ADMIN, "POST", arena_format(arena, "/volumes/%s/action", model->id),
             "{\"os-unmanage\": {}}", &answer);
    verdict = check_answer(sim, arena_format(arena, "%.8s unmanage", model->id), &answer);
    model_removed(model, verdict, false);
    model->deleted = verdict > 0 && before == model->disturbances;
}

static const char *name_left(struct arena *arena, const struct model *model) {
    return arena_format(arena, "unmanaged-%s", model->id);
}

/* The object of an unmanaged volume, or NULL. */
static struct model *find_left(struct sim *sim, struct arena *arena) {
    for (struct model *model = sim->models; model < sim->models + SIM_VOLUMES; model++)
        if (model->id[0] && memory_has(sim->world->memory, name_left(arena, model)))
            return model;
    return NULL;
}

static int64_t gib_of(int64_t bytes) {
    return bytes / GIB + (bytes % GIB > 0);
}

void volume_take_over(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct model *left = find_left(sim, arena), *made;
    autoanswer struct answer answer = { 0 };
    int64_t bytes = left ? left->seen_bytes : GIB * (1 + below(sim, 3)) + 512 * below(sim, 2);
    const char *name = left ? name_left(arena, left) : arena_format(arena, "disk-%u", ++sim->disks);

    (void)arg;
    if (left)
        left->given = true;
    else
        memory_put(sim->world->memory, name, bytes, 0);
    call_api(sim, SIM_ADMIN, "POST", "/os-volume-manage",
             arena_format(arena,
                          "{\"volume\": {\"host\": \"" WORLD_NODE
                          "@memory\", \"ref\": {\"source-name\": \"%s\"}}}",
                          name),
             &answer);
    if (answer.status == 400) /* it has queried the backend, and that is all it has changed */
        answer.changed = false;
    if (check_answer(sim, arena_format(arena, "manage %s", name), &answer) <= 0)
        return;
    made = model_new(sim, &answer, gib_of(bytes));
    if (made && left) { /* it may have been grown further than was observed */
        memcpy(made->sizes, left->sizes, sizeof made->sizes);
        made->size_count = left->size_count;
    }
    if (made)
        made->seen_gb = 0;
}

void existing_check_end(struct sim *sim, const struct model *model) {
    autoarena struct arena *arena = arena_new();

    if (model->had_image && !model->destroyed && !model->given &&
        memory_bytes(sim->world->memory, model->id) < 0 &&
        !memory_has(sim->world->memory, name_left(arena, model)))
        wrong(sim, "volume %s was let go of, and what it was made of is gone", model->id);
}
