/*
 * The invariants: after each step, of the rows now and then, right before each effect on an image,
 * and when everything has come to rest.
 */
#include "manager/check/check.h"
#include "tests/lib/memory_guests.h"
#include "tests/sim/sim.h"

#include <string.h>

/* Events between a fence and its effect are rare, and worst: there one sleeps as often. */
#define GAP_PERCENT 25

/* ---- looks that nothing comes between ---- */

struct look {
    const char *volume_id;
    int64_t attachments, deletes;
    char status[32], operation[37], phase[16];
    int64_t size_gb; /* 0: there is no row, or it has no size yet */
};

static int look_body(struct db_tx *tx, void *arg, struct error *err) {
    struct look *look = arg;
    autorows struct db_rows *rows = db_query(
        tx, err,
        "SELECT v.status, v.size_gb, (SELECT COUNT(*) FROM attachments a WHERE a.volume_id = v.id), "
        "o.id, o.phase, (SELECT COUNT(*) FROM operations d WHERE d.volume_id = v.id AND "
        "d.kind = 'delete') FROM volumes v LEFT JOIN operations o ON o.target_id = v.id "
        "WHERE v.id = $1",
        DB_TEXT(look->volume_id));
    int more = rows ? db_next(rows, err) : -1;

    if (more <= 0)
        return more;
    snprintf(look->status, sizeof look->status, "%s", db_text(rows, 0));
    look->size_gb = db_int(rows, 1);
    look->attachments = db_int(rows, 2);
    look->deletes = db_int(rows, 5);
    if (!db_is_null(rows, 3)) {
        snprintf(look->operation, sizeof look->operation, "%s", db_text(rows, 3));
        snprintf(look->phase, sizeof look->phase, "%s", db_text(rows, 4));
    }
    return 0;
}

static struct look look_at(struct sim *sim, const char *volume_id) {
    struct look look = { .volume_id = volume_id };
    struct error err;

    if (db_read(sim->world->db, look_body, &look, &err) < 0)
        wrong(sim, "database: %s", err.message);
    return look;
}

const char *row_status(struct sim *sim, const char *volume_id) {
    static char status[32];

    memcpy(status, look_at(sim, volume_id).status, sizeof status);
    return status[0] ? status : "gone";
}

int64_t row_size(struct sim *sim, const char *volume_id) {
    return look_at(sim, volume_id).size_gb;
}

/* ---- an agent reports of the extend that it has read of, and of no other ---- */

void model_read(struct sim *sim, struct thread *thread) {
    struct look look;

    if (!thread->watches[0] || thread->reports)
        return;
    look = look_at(sim, thread->watches);
    memcpy(thread->operation, look.operation, sizeof thread->operation);
}

void model_committed(struct sim *sim, struct thread *thread) {
    struct look look;

    thread->commits++;
    if (!thread->watches[0] || !thread->reports || !sim->temper.old_reports)
        return;
    look = look_at(sim, thread->watches);
    if (strcmp(look.phase, "completing") == 0 && strcmp(look.operation, thread->operation) != 0)
        wrong(sim, "an agent's report of one extend of %s ended another", thread->watches);
}

/* ---- images ---- */

/* Right before it is gone.  A reset that comes after the last check of a delete comes too late; but
 * then the delete is still recorded, so nothing is built on the volume.  However long that delete
 * sleeps: once it is not recorded any more, the image has another name. */
static void check_destroyed(struct sim *sim, const char *volume_id) {
    struct look look = look_at(sim, volume_id);

    if (look.attachments > 0)
        wrong(sim, "the image of %s is destroyed, which has %jd attachments", volume_id,
              (intmax_t)look.attachments);
    else if (look.status[0] && strcmp(look.status, "deleting") != 0 &&
             !(sim->temper.gap && look.deletes > 0))
        wrong(sim, "the image of %s is destroyed, which is %s", volume_id, look.status);
}

/*
 * ---- objects that come too late ----
 *
 * A worker that sleeps between its fence and the making of an object may find when it wakes up that
 * the object is not needed any more, and removes it again.  If it dies before that, no row names
 * the object: it stays, and the check names it.
 */

static bool is_wanted(struct sim *sim, const char *id) {
    autoarena struct arena *arena = arena_new();

    return world_count(sim->world,
                       arena_format(arena,
                                    "SELECT (SELECT COUNT(*) FROM volumes WHERE id = '%s' AND "
                                    "status <> 'deleting') + (SELECT COUNT(*) FROM snapshots WHERE "
                                    "id = '%s' AND status <> 'deleting')",
                                    id, id)) > 0;
}

static void note_made(struct sim *sim, const char *call, const char *name_id) {
    char *made = sim->current ? sim->current->made : NULL;

    if (!made)
        return;
    if ((strncmp(call, "delete_", 7) == 0 || strncmp(call, "unmanage_", 9) == 0) &&
        strcmp(made, name_id) == 0)
        made[0] = '\0';
    if ((strncmp(call, "create_", 7) == 0 || strncmp(call, "clone_", 6) == 0 ||
         strncmp(call, "manage_", 7) == 0) &&
        !is_wanted(sim, name_id))
        snprintf(made, sizeof sim->current->made, "%s", name_id);
}

/* A snapshot that comes late stays where the storage takes none away below a guest; one may hold
 * the image longer than its attachment lasts. */
static bool may_be_deferred(struct sim *sim) {
    bool held = false;

    for (unsigned i = 0; i < SIM_VOLUMES && sim->temper.assists; i++)
        held |= sim->models[i].id[0] && (look_at(sim, sim->models[i].id).attachments > 0 ||
                                         guest_holds(sim, sim->models[i].id));
    return held;
}

void model_ended(struct sim *sim, const struct thread *thread) {
    if (thread->made[0] && sim->left_count < SIM_LEFT &&
        (thread->home->dying || may_be_deferred(sim)))
        memcpy(sim->left[sim->left_count++], thread->made, sizeof thread->made);
}

static bool was_left(const struct sim *sim, const char *text) {
    for (unsigned i = 0; i < sim->left_count; i++)
        if (strstr(text, sim->left[i]))
            return true;
    return false;
}

static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    struct sim *sim = arg;
    char id[37];
    bool alive;

    if (!memory_made_as(sim->world->memory, name_id, id, sizeof id))
        snprintf(id, sizeof id, "%s", name_id);
    if (sim->current && point == MEMORY_LOOKED)
        memcpy(sim->current->locks, id, sizeof sim->current->locks);
    if (point == MEMORY_LOOKED)
        alive = pause_here(sim, call);
    else
        alive = !sim->temper.gap || doze_here(sim, call, GAP_PERCENT);
    if (sim->current && point == MEMORY_FENCED)
        sim->current->locks[0] = '\0';
    if (alive && point == MEMORY_FENCED && strcmp(call, "delete_volume") == 0) {
        if (memory_made_as(sim->world->memory, name_id, id, sizeof id))
            check_destroyed(sim, id);
        else
            sim->counts[COUNT_LATE]++;
    }
    if (alive && point == MEMORY_FENCED && strcmp(call, "unmanage_volume") == 0 &&
        look_at(sim, id).attachments > 0)
        wrong(sim, "the image of %s is taken away, which is attached", id);
    if (alive && point == MEMORY_FENCED) {
        snapshot_touched(sim, call, name_id);
        note_made(sim, call, name_id);
    }
    return alive;
}

void model_watch(struct sim *sim) {
    memory_watch(sim->world->memory, between, sim);
}

static void check_image(struct sim *sim, struct model *model) {
    int64_t bytes = memory_bytes(sim->world->memory, model->id);

    if (bytes >= 0 && bytes < model->seen_bytes)
        wrong(sim, "the image of %s shrank from %jd to %jd bytes", model->id,
              (intmax_t)model->seen_bytes, (intmax_t)bytes);
    model->had_image |= bytes >= 0;
    if (bytes >= 0)
        model->seen_bytes = bytes;
}

void check_step(struct sim *sim) {
    for (unsigned i = 0; i < SIM_VOLUMES && !sim->failed; i++)
        if (sim->models[i].id[0])
            check_image(sim, &sim->models[i]);
    if (!sim->failed)
        guests_check(sim);
}

/* ---- rows ---- */

/* Of a volume whose delete has failed half-way: an operator may have called it available since. */
static bool is_half_deleted(struct sim *sim, const char *text) {
    for (const struct model *model = sim->models; model < sim->models + SIM_VOLUMES; model++)
        if (model->id[0] && model->removed && strstr(text, model->id) &&
            !strstr(text, "has no storage") && memory_bytes(sim->world->memory, model->id) < 0)
            return true;
    return false;
}

/* Every manager is paused, or dead, for a while. */
static bool has_no_manager(const char *text) {
    return strstr(text, "and no manager since") != NULL;
}

static void found(void *arg, const char *promise, const char *text) {
    if (strcmp(promise, "P5") == 0 && has_no_manager(text))
        note(arg, "%s", text);
    else if (strcmp(promise, "P3") == 0 && (is_half_deleted(arg, text) || was_left(arg, text)))
        note(arg, "%s", text);
    else
        wrong(arg, "%s: %s", promise, text);
}

static void noted(void *arg, const char *text) {
    note(arg, "%s", text);
}

static void run_check(struct sim *sim, bool images) {
    const struct manager_backend behind_the_filter[2] = {
        { .name = "memory", .driver = &memory_driver, .handle = sim->world->memory },
    };
    struct check check = {
        .db = sim->world->db,
        .settings = &sim->world->settings,
        .backends = images ? behind_the_filter : NULL,
        .node = WORLD_NODE,
        .wrong = found,
        .note = noted,
        .arg = sim,
    };
    struct error err;

    if (check_run(&check, &err) < 0)
        wrong(sim, "check: %s", err.message);
}

static void check_size(struct sim *sim, struct model *model) {
    struct look look = look_at(sim, model->id);

    if (look.size_gb && look.size_gb < model->seen_gb)
        wrong(sim, "volume %s shrank from %jd to %jd GiB", model->id, (intmax_t)model->seen_gb,
              (intmax_t)look.size_gb);
    if (look.size_gb)
        model->seen_gb = look.size_gb;
}

void check_rows(struct sim *sim) {
    run_check(sim, false);
    moments_check_rows(sim);
    for (unsigned i = 0; i < SIM_VOLUMES && !sim->failed; i++)
        if (sim->models[i].id[0])
            check_size(sim, &sim->models[i]);
}

/* ---- rest ---- */

void work_for(struct sim *sim, int64_t seconds, int64_t each) {
    for (int64_t passed = 0; passed < seconds && !sim->failed; passed += each) {
        pass(sim, each);
        settle(sim);
        check_step(sim);
    }
}

/* No reporter is left: the managers must have detected it, long before the deadline.  A running one
 * may check a lock for longer that may be a former worker's; queued ones and those about to begin
 * wait for their turn. */
static void check_stranded(struct sim *sim) {
    int64_t stranded =
        world_count(sim->world, "SELECT COUNT(*) FROM operations o WHERE o.kind IN ('extend', "
                                "'snapshot_create', 'snapshot_delete') AND "
                                "o.phase NOT IN ('queued', 'running') AND NOT EXISTS "
                                "(SELECT 1 FROM attachments a WHERE a.volume_id = o.volume_id)");

    if (stranded > 0)
        wrong(sim, "%jd operations wait for a report although nothing is attached",
              (intmax_t)stranded);
}

static void come_to_rest(struct sim *sim) {
    note(sim, "rest");
    if (chance(sim, 50))
        nodes_power_off(sim);
    sim->calm = true;
    nodes_revive(sim);
    hosts_revive(sim);
    settle(sim);
    work_for(sim, 180, 30);
    if (!sim->failed)
        check_stranded(sim);
    /* Long enough for all the looks that an extend has at a lock, one a step. */
    for (int i = 0; i < 10 && !sim->failed; i++) {
        if (world_count(sim->world, "SELECT COUNT(*) FROM operations") == 0)
            return;
        work_for(sim, 700, 100);
    }
    if (!sim->failed && world_count(sim->world, "SELECT COUNT(*) FROM operations") > 0)
        wrong(sim, "%jd operations never end",
              (intmax_t)world_count(sim->world, "SELECT COUNT(*) FROM operations"));
}

static bool is_known(const struct model *model, int64_t size_gb) {
    bool known = model->size_count == SIM_SIZES;

    for (unsigned i = 0; i < model->size_count; i++)
        known |= model->sizes[i] == size_gb;
    return known;
}

static void check_volume(struct sim *sim, const struct model *model) {
    struct look look = look_at(sim, model->id);

    if (!look.status[0] && !model->removed)
        wrong(sim, "volume %s was made and is gone", model->id);
    if (look.status[0] && model->deleted && strcmp(look.status, "error_deleting") != 0 &&
        strcmp(look.status, "error_unmanaging") != 0)
        wrong(sim, "volume %s was deleted and is %s", model->id, look.status);
    if (look.size_gb > 0 && !is_known(model, look.size_gb))
        wrong(sim, "volume %s has %jd GiB, which was not requested", model->id,
              (intmax_t)look.size_gb);
    if (look.size_gb > 0 && look.size_gb < model->must_become)
        wrong(sim, "volume %s is %s with %jd GiB; an extend to %jd was accepted", model->id,
              look.status, (intmax_t)look.size_gb, (intmax_t)model->must_become);
}

/* ---- whatever has happened, a volume can be used ---- */

int ask(struct sim *sim, const char *method, const char *path, const char *body,
        char answer_id[37]) {
    static const char *const wrappers[] = { "attachment", "snapshot", "volume" };
    autoanswer struct answer answer;
    const json_t *made = NULL;
    const char *id;

    call_api(sim, SIM_ADMIN, method, path, body, &answer);
    settle(sim);
    for (unsigned i = 0; i < LENGTH(wrappers) && !made; i++)
        made = json_object_get(answer.body, wrappers[i]);
    id = json_string_value(json_object_get(made, "id"));
    if (answer_id && id)
        snprintf(answer_id, 37, "%s", id);
    if (answer.status >= 400 && sim->verbose)
        printf("    %s %s %s: %d %s\n", method, path, body ? body : "", answer.status, answer.text);
    return answer.status;
}

static int act_on(struct sim *sim, const char *volume_id, const char *body) {
    autoarena struct arena *arena = arena_new();

    return ask(sim, "POST", arena_format(arena, "/volumes/%s/action", volume_id), body, NULL);
}

static void check_attach(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();
    char id[37] = "";
    int status = ask(
        sim, "POST", "/attachments",
        arena_format(arena,
                     "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": "
                     "\"44444444-4444-4444-8444-444444444444\", \"connector\": {\"host\": \"x\"}}}",
                     volume_id),
        id);

    if (status != 200) {
        wrong(sim, "volume %s cannot be attached at rest: %d", volume_id, status);
        return;
    }
    status = ask(sim, "DELETE", arena_format(arena, "/attachments/%s", id), NULL, NULL);
    if (status != 200)
        wrong(sim, "volume %s cannot be detached at rest: %d", volume_id, status);
}

static void check_extend(struct sim *sim, const char *volume_id, int64_t size_gb) {
    autoarena struct arena *arena = arena_new();
    int64_t new_gb = size_gb + 1;
    int status =
        act_on(sim, volume_id,
               arena_format(arena, "{\"os-extend\": {\"new_size\": %jd}}", (intmax_t)new_gb));
    struct look look = look_at(sim, volume_id);

    if (status != 202 || look.size_gb != new_gb || strcmp(look.status, "available") != 0)
        wrong(sim, "volume %s cannot be extended to %jd GiB at rest: answer %d, %s with %jd GiB",
              volume_id, (intmax_t)new_gb, status, look.status, (intmax_t)look.size_gb);
}

static void check_delete(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();
    int status = ask(sim, "DELETE", arena_format(arena, "/volumes/%s", volume_id), NULL, NULL);

    if (status != 202 || look_at(sim, volume_id).status[0])
        wrong(sim, "volume %s cannot be deleted at rest: %d, %s", volume_id, status,
              look_at(sim, volume_id).status);
}

/* An operator repairs failures, as docs/operations.md has it; every holder releases it. */
static void check_usable(struct sim *sim, const char *volume_id) {
    struct look look;

    for (unsigned i = 0; i < SIM_GUESTS; i++)
        guest_unplug(sim, i, volume_id);
    if (act_on(sim, volume_id,
               "{\"os-reset_status\": {\"status\": \"available\", \"attach_status\": "
               "\"detached\"}}") != 202)
        wrong(sim, "volume %s cannot be reset at rest", volume_id);
    work_for(sim, 60, 30);
    look = look_at(sim, volume_id);
    if (!sim->failed)
        check_attach(sim, volume_id);
    if (!sim->failed)
        snapshot_check_usable(sim, volume_id);
    if (!sim->failed)
        check_extend(sim, volume_id, look.size_gb);
    if (!sim->failed)
        group_check_usable(sim, volume_id);
    if (!sim->failed)
        check_delete(sim, volume_id);
}

/* One that a failed create left all the same has no owner. */
static bool has_image(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();

    return memory_bytes(sim->world->memory, volume_id) >= 0 &&
           world_count(sim->world, arena_format(arena,
                                                "SELECT COUNT(*) FROM volumes WHERE id = '%s' AND "
                                                "provider_location IS NOT NULL",
                                                volume_id)) > 0;
}

void check_end(struct sim *sim) {
    come_to_rest(sim);
    if (!sim->failed)
        run_check(sim, true);
    if (!sim->failed && sim->temper.moment)
        moments_check_usable(sim);
    assists_end(sim);
    if (!sim->failed)
        group_snapshots_check_end(sim);
    for (unsigned i = 0; i < SIM_VOLUMES && !sim->failed; i++) {
        struct model *model = &sim->models[i];

        if (!model->id[0])
            continue;
        check_volume(sim, model);
        snapshot_check_end(sim, model);
        if (!look_at(sim, model->id).status[0])
            existing_check_end(sim, model);
        /* After a failed create or delete it has no image: it can only be deleted. */
        if (!sim->failed && look_at(sim, model->id).size_gb > 0 && has_image(sim, model->id))
            check_usable(sim, model->id);
    }
}
