/*
 * Group snapshots that promise one moment, of several volumes of one guest: all of it or none, and
 * at rest they get their turn beside merges, other snapshots and each other.
 */
#include "tests/sim/sim.h"

#include <string.h>

enum { MEMBERS = 2, TIMEOUT_S = 200 }; /* less than a host waits for a set */

void moments_begin(struct sim *sim) {
    for (unsigned i = 0; i < MEMBERS; i++) {
        volume_make(sim, NULL);
        settle(sim);
        group_join(sim, &sim->models[i]);
        attach_to(sim, &sim->models[i], 0);
    }
}

/* ---- all or none ---- */

void moment_taken(struct sim *sim, const char (*snapshot_ids)[37], unsigned count) {
    unsigned number = sim->counts[COUNT_MOMENTS]++;

    for (unsigned i = 0; i < count && sim->moment_count + count - i <= SIM_MOMENTS; i++) {
        struct moment *moment = &sim->moments[sim->moment_count++];

        *moment = (struct moment){ .number = number };
        memcpy(moment->snapshot_id, snapshot_ids[i], sizeof moment->snapshot_id);
    }
}

/* The group snapshot that it is in, if that is available. */
static struct text whole_of(struct sim *sim, const struct moment *moment) {
    return look_for(sim,
                    "SELECT g.id FROM snapshots s JOIN group_snapshots g ON "
                    "g.id = s.group_snapshot_id WHERE g.status = 'available' AND s.id = $1",
                    moment->snapshot_id);
}

/* A host must not wait for a member in vain: nothing of another stands on the volume. */
static void check_circles(struct sim *sim) {
    static const char in_the_way[] =
        "SELECT p.target_id FROM operations p JOIN snapshots s ON s.id = p.target_id "
        "JOIN operations g ON g.target_id = s.group_snapshot_id AND g.phase = 'waiting' AND "
        "g.kind = 'group_snapshot_create' AND g.arguments IS NOT NULL "
        "JOIN operations x ON x.volume_id = p.volume_id AND x.id <> p.id AND "
        "x.target_id <> x.volume_id WHERE p.kind = 'snapshot_create' AND "
        "((x.deadline IS NOT NULL AND x.phase IN ('preparing', 'sending', 'waiting')) OR EXISTS "
        "(SELECT 1 FROM snapshots t JOIN operations h ON h.target_id = t.group_snapshot_id WHERE "
        "t.id = x.target_id AND h.kind = g.kind AND h.phase = 'waiting' AND "
        "h.arguments IS NOT NULL)) AND $1 = '' LIMIT 1";
    struct text found = look_for(sim, in_the_way, "");

    if (found.found[0])
        wrong(sim, "snapshot %s of one moment waits in a circle", found.found);
}

void moments_check_rows(struct sim *sim) {
    struct text wholes[SIM_MOMENTS];

    if (sim->temper.moment)
        check_circles(sim);
    for (unsigned i = 0; i < sim->moment_count; i++)
        wholes[i] = whole_of(sim, &sim->moments[i]);
    for (unsigned i = 0; i < sim->moment_count; i++)
        for (unsigned j = 0; j < i; j++) {
            bool one_moment = sim->moments[i].number == sim->moments[j].number;

            if ((wholes[i].found[0] || wholes[j].found[0]) &&
                one_moment != (strcmp(wholes[i].found, wholes[j].found) == 0))
                wrong(sim, "snapshots %s and %s are of %s moment, and not their group snapshots",
                      sim->moments[i].snapshot_id, sim->moments[j].snapshot_id,
                      one_moment ? "one" : "no one");
        }
}

/* ---- whatever has happened, they can be taken ---- */

struct trial {
    struct arena *arena;
    unsigned guest;
    char volumes[MEMBERS][37], attachments[MEMBERS][37], group[37];
    char old[MEMBERS][37];    /* snapshots that are to be merged */
    char wholes[MEMBERS][37]; /* group snapshots */
};

static bool make_volumes(struct sim *sim, struct trial *trial) {
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (ask(sim, "POST", "/volumes", "{\"volume\": {\"size\": 1}}", trial->volumes[i]) != 202)
            return false;
        if (ask(sim, "POST", "/snapshots",
                arena_format(trial->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}",
                             trial->volumes[i]),
                trial->old[i]) != 202)
            return false;
    }
    return group_make(sim, trial->group) &&
           ask(sim, "PUT", arena_format(trial->arena, "/groups/%s", trial->group),
               arena_format(trial->arena, "{\"group\": {\"add_volumes\": \"%s,%s\"}}",
                            trial->volumes[0], trial->volumes[1]),
               NULL) == 202;
}

static bool plug(struct sim *sim, struct trial *trial) {
    for (unsigned i = 0; i < MEMBERS; i++) {
        const char *body = arena_format(
            trial->arena,
            "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\", "
            "\"connector\": {\"host\": \"%s\"}}}",
            trial->volumes[i], guest_instance(trial->guest), guest_host(sim, trial->guest));

        if (ask(sim, "POST", "/attachments", body, trial->attachments[i]) != 200 ||
            !guest_plug(sim, trial->guest, trial->volumes[i]) ||
            ask(sim, "POST",
                arena_format(trial->arena, "/attachments/%s/action", trial->attachments[i]),
                "{\"os-complete\": null}", NULL) != 204)
            return false;
    }
    return true;
}

/* Without waiting for its outcome. */
static void begin(struct sim *sim, const char *method, const char *path, const char *body,
                  char ret[37]) {
    autoanswer struct answer answer;
    const char *id;

    call_api(sim, SIM_ADMIN, method, path, body, &answer);
    if (answer.status != 202)
        wrong(sim, "%s %s %s at rest: %d %s", method, path, body ? body : "", answer.status,
              answer.text);
    id = json_string_value(json_object_get(json_object_get(answer.body, "group_snapshot"), "id"));
    if (id)
        snprintf(ret, 37, "%s", id);
}

static void begin_all(struct sim *sim, struct trial *trial) {
    for (unsigned i = 0; i < MEMBERS && !sim->failed; i++) {
        char none[37];

        if (below(sim, 2))
            settle(sim);
        begin(sim, "POST", "/group_snapshots",
              arena_format(trial->arena, "{\"group_snapshot\": {\"group_id\": \"%s\"}}",
                           trial->group),
              trial->wholes[i]);
        if (!sim->failed)
            begin(sim, "DELETE", arena_format(trial->arena, "/snapshots/%s", trial->old[i]), NULL,
                  none);
    }
}

static void wait_for_all(struct sim *sim) {
    for (int s = 0; s < TIMEOUT_S && !sim->failed; s += 10) {
        if (world_count(sim->world, "SELECT COUNT(*) FROM operations") == 0)
            return;
        work_for(sim, 10, 10);
    }
}

static void check_all(struct sim *sim, const struct trial *trial) {
    for (unsigned i = 0; i < MEMBERS && !sim->failed; i++) {
        struct text status =
            look_for(sim, "SELECT status FROM group_snapshots WHERE id = $1", trial->wholes[i]);

        if (strcmp(status.found, "available") != 0)
            wrong(sim, "group snapshot %s of one moment is %s at rest", trial->wholes[i],
                  status.found);
        if (look_for(sim, "SELECT id FROM snapshots WHERE id = $1", trial->old[i]).found[0])
            wrong(sim, "snapshot %s is not merged at rest", trial->old[i]);
    }
}

static void take_away(struct sim *sim, struct trial *trial) {
    for (unsigned i = 0; i < MEMBERS && !sim->failed; i++)
        if (ask(sim, "DELETE", arena_format(trial->arena, "/group_snapshots/%s", trial->wholes[i]),
                NULL, NULL) != 202)
            wrong(sim, "group snapshot %s cannot be deleted below a guest", trial->wholes[i]);
    wait_for_all(sim);
    for (unsigned i = 0; i < MEMBERS && !sim->failed; i++) {
        if (look_for(sim, "SELECT id FROM group_snapshots WHERE id = $1", trial->wholes[i])
                .found[0])
            wrong(sim, "group snapshot %s is still there", trial->wholes[i]);
        guest_unplug(sim, trial->guest, trial->volumes[i]);
        ask(sim, "DELETE", arena_format(trial->arena, "/attachments/%s", trial->attachments[i]),
            NULL, NULL);
    }
    ask(sim, "POST", arena_format(trial->arena, "/groups/%s/action", trial->group),
        "{\"delete\": {\"delete-volumes\": true}}", NULL);
}

void moments_check_usable(struct sim *sim) {
    autoarena struct arena *arena = arena_new();
    struct trial trial = { .arena = arena };

    /* Obstacles, a quota for instance, do not concern them. */
    if (!guest_with_space(sim, MEMBERS, &trial.guest) || !make_volumes(sim, &trial) ||
        !plug(sim, &trial))
        return;
    begin_all(sim, &trial);
    wait_for_all(sim);
    check_all(sim, &trial);
    take_away(sim, &trial);
}
