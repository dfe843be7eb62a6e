/*
 * An object that is made or deleted with a snapshot, in each of its phases, meets an operator's
 * resets of the snapshot, its volume or its clones; and reports that come late.  Nothing is lost or
 * stranded, and nothing waits for a deadline.
 */
#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"

#include <string.h>

static struct scene {
    struct world *world;
    const char *volume, *snapshot, *copy; /* copy: "" without one */
    const struct act *act;
    const char *call; /* of the driver, in the middle of which it comes; NULL: none */
    bool host_acts, acted;
} scene;

/* ---- actions of an operator ---- */

#define SNAPSHOT_RESET(to) "/snapshots/S/action", "{\"os-reset_status\": {\"status\": \"" to "\"}}"
#define VOLUME_RESET(id, what, to) \
    "/volumes/" id "/action", "{\"os-reset_status\": {\"" what "\": \"" to "\"}}"
#define SNAPSHOT_FORCE   "/snapshots/S/action", "{\"os-force_delete\": null}"
#define VOLUME_FORCE(id) "/volumes/" id "/action", "{\"os-force_delete\": null}"

static const struct act {
    const char *path, *body, *then_path, *then_body; /* no body: DELETE */
} acts[] = {
    { SNAPSHOT_RESET("available"), NULL, NULL },
    { SNAPSHOT_RESET("error"), NULL, NULL },
    { SNAPSHOT_RESET("creating"), NULL, NULL },
    { SNAPSHOT_RESET("deleting"), NULL, NULL },
    { SNAPSHOT_RESET("error_deleting"), NULL, NULL },
    { SNAPSHOT_FORCE, NULL, NULL },
    { SNAPSHOT_RESET("error"), "/snapshots/S", NULL },
    { SNAPSHOT_RESET("available"), "/snapshots/S", NULL },
    { SNAPSHOT_RESET("error_deleting"), SNAPSHOT_FORCE },
    { VOLUME_RESET("V", "status", "error"), NULL, NULL },
    { VOLUME_RESET("V", "status", "in-use"), NULL, NULL },
    { VOLUME_RESET("V", "attach_status", "detached"), NULL, NULL },
    { VOLUME_RESET("V", "attach_status", "detached"), VOLUME_RESET("V", "status", "available") },
    { VOLUME_RESET("V", "attach_status", "detached"), "/volumes/V?force=true&cascade=true", NULL },
    { VOLUME_FORCE("V"), NULL, NULL },
    { VOLUME_RESET("C", "status", "error"), NULL, NULL },
    { VOLUME_RESET("C", "status", "available"), NULL, NULL },
    { VOLUME_RESET("C", "status", "error"), "/volumes/C", NULL },
    { VOLUME_RESET("C", "status", "available"), "/volumes/C", NULL },
    { VOLUME_RESET("C", "status", "creating"), VOLUME_FORCE("C") },
    { VOLUME_FORCE("C"), NULL, NULL },
};

static int send_request(const char *path, const char *body) {
    struct world *world = scene.world;
    const char *place = strpbrk(path, "SVC");
    const char *id = *place == 'S' ? scene.snapshot : *place == 'V' ? scene.volume : scene.copy;

    path = PATH("%.*s%s%s", (int)(place - path), path, id, place + 1);
    return world_call(world, body ? "POST" : "DELETE", path, body);
}

static void act(void) {
    const struct act *chosen = scene.act;

    scene.acted = true;
    ck_assert_int_lt(send_request(chosen->path, chosen->body), 500);
    if (chosen->then_path)
        ck_assert_int_lt(send_request(chosen->then_path, chosen->then_body), 500);
}

static struct fault_decision in_the_driver(void *arg, const char *call, const char *id) {
    (void)arg, (void)id;
    if (!scene.acted && scene.call && strcmp(call, scene.call) == 0)
        act();
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* ---- a host, and its reports ---- */

static const char *const reports[] = {
    "{\"os-update_snapshot_status\": {\"status\": \"creating\"}}",
    "{\"os-update_snapshot_status\": {\"status\": \"deleting\"}}",
    "{\"os-update_snapshot_status\": {\"status\": \"creating\", \"progress\": \"90%\"}}",
    "{\"os-update_snapshot_status\": {\"status\": \"deleting\", \"progress\": \"90%\"}}",
    "{\"os-update_snapshot_status\": {\"status\": \"error\"}}",
    "{\"os-update_snapshot_status\": {\"status\": \"error_deleting\"}}",
};

static void report(unsigned first, unsigned count) {
    struct world *world = scene.world;

    for (unsigned i = first; i < first + count; i++) {
        int status =
            world_call(world, "POST", PATH("/snapshots/%s/action", scene.snapshot), reports[i]);

        ck_assert_msg(status == 202 || status == 400 || status == 404, "%s: %d", reports[i],
                      status);
    }
}

static void host(struct world *world, const struct world_assist *assist) {
    if (scene.host_acts)
        memory_assist(world->memory, assist->snapshot_id);
}

/* ---- open operations ---- */

/* Used by a guest, whose host takes the snapshots. */
static void volume_used(void) {
    struct world *world = scene.world;

    scene.volume = world_volume(world, 2);
    world_attach(world, scene.volume, WORLD_INSTANCE);
    memory_write(world->memory, scene.volume, 7);
}

static void snapshot_of_it(void) {
    struct world *world = scene.world;

    volume_used();
    scene.snapshot = snapshot_of_volume(world, scene.volume);
    memory_write(world->memory, scene.volume, 8);
}

static void create(void) {
    volume_used();
    memory_defer_snapshots(scene.world->memory, true);
    scene.snapshot = new_snapshot(scene.world, scene.volume);
}

static void create_alone(void) {
    volume_used();
    scene.snapshot = new_snapshot(scene.world, scene.volume);
}

static void create_awaited(void) {
    create();
    world_settle(scene.world);
}

static void create_reported(void) {
    create_awaited();
    report(2, 1);
}

static void go_away(void) {
    struct world *world = scene.world;

    snapshot_of_it();
    memory_defer_snapshots(world->memory, true);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", scene.snapshot), NULL), 202);
}

static void go_away_alone(void) {
    go_away();
    memory_defer_snapshots(scene.world->memory, false);
}

static void merge_awaited(void) {
    go_away();
    world_settle(scene.world);
}

static void merge_reported(void) {
    merge_awaited();
    report(3, 1);
}

static void copy_of(const char *source, const char *id) {
    struct world *world = scene.world;

    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"%s\": \"%s\"}}", source, id)),
        202);
    scene.copy = world_answer_id(world, "volume");
}

static void clone_snapshot(void) {
    snapshot_of_it();
    copy_of("snapshot_id", scene.snapshot);
}

static void clone_volume(void) {
    snapshot_of_it();
    copy_of("source_volid", scene.volume);
}

/* Waits for the host, which is at another snapshot. */
static void clone_behind(void) {
    struct world *world = scene.world;
    const char *old;

    snapshot_of_it();
    old = scene.snapshot;
    memory_defer_snapshots(world->memory, true);
    scene.snapshot = new_snapshot(world, scene.volume);
    world_settle(world);
    copy_of("snapshot_id", old);
    world_settle(world);
}

static const struct phase {
    const char *name;
    void (*open)(void);
    const char *call; /* NULL: between two jobs */
    bool by_host, copies;
} phases[] = {
    { "create", create, NULL, true, false },
    { "create", create_alone, "create_snapshot", false, false },
    { "create by a host", create, "prepare_assist", true, false },
    { "create by a host, awaited", create_awaited, NULL, true, false },
    { "create by a host, reported", create_reported, NULL, true, false },
    { "create by a host, judged", create_reported, "complete_assist", true, false },
    { "delete", go_away, NULL, true, false },
    { "delete", go_away_alone, "delete_snapshot", false, false },
    { "merge", go_away, "prepare_assist", true, false },
    { "merge, awaited", merge_awaited, NULL, true, false },
    { "merge, reported", merge_reported, NULL, true, false },
    { "merge, judged", merge_reported, "complete_assist", true, false },
    { "clone of a snapshot", clone_snapshot, NULL, false, true },
    { "clone of a snapshot", clone_snapshot, "clone_snapshot", false, true },
    { "clone of a volume", clone_volume, NULL, false, true },
    { "clone of a volume", clone_volume, "clone_volume", false, true },
    { "clone behind a host", clone_behind, NULL, true, true },
};

/* ---- how it ends ---- */

/* Far less than a deadline. */
static void rest(void) {
    struct world *world = scene.world;

    for (int i = 0; i < 5; i++) {
        world_settle(world);
        report(0, LENGTH(reports));
        world_settle(world);
        world_advance(world, 31);
    }
    world_settle(world);
}

#define STRANDED(table, statuses) \
    "SELECT COUNT(*) FROM " table " WHERE status_by_reset = 0 AND status IN (" statuses ")"

static void assert_at_rest(const struct phase *phase) {
    struct world *world = scene.world;
    const char *status = snapshot_status(world, scene.snapshot);
    const char *about =
        PATH("%s (%s), %s %s, host %s: snapshot %s", phase->name, phase->call ? phase->call : "-",
             scene.act->path, scene.act->body ? scene.act->body : "",
             scene.host_acts ? "acts" : "fails", status);

    ck_assert_msg(scene.acted, "%s: did not meet", about);
    ck_assert_msg(world_check(world) == 0, "%s: a promise does not hold", about);
    ck_assert_msg(world_count(world, "SELECT COUNT(*) FROM operations") == 0, "%s: is waited for",
                  about);
    ck_assert_msg(world_count(world, STRANDED("snapshots", "'creating', 'deleting'")) == 0 &&
                      world_count(world, STRANDED("volumes", "'creating', 'deleting'")) == 0,
                  "%s: stranded", about);
    if (strcmp(world_status(world, scene.volume), "gone") != 0)
        ck_assert_msg(memory_read(world->memory, scene.volume) >= 7, "%s: content is lost", about);
    if (strcmp(status, "available") == 0 &&
        world_count(world, PATH("SELECT COUNT(*) FROM snapshots WHERE id = '%s' AND "
                                "provider_location IS NOT NULL AND delete_begun = 0",
                                scene.snapshot)) == 1)
        ck_assert_msg(memory_read_snapshot(world->memory, scene.snapshot) >= 7,
                      "%s: its content is lost", about);
    if (strcmp(status, "gone") == 0)
        ck_assert_msg(memory_read_snapshot(world->memory, scene.snapshot) < 0, "%s: is left",
                      about);
    if (*scene.copy && strcmp(world_status(world, scene.copy), "available") == 0)
        ck_assert_msg(memory_read(world->memory, scene.copy) >= 7, "%s: an empty copy", about);
}

static void hold_meeting(const struct phase *phase, const struct act *chosen, bool host_acts) {
    autoworld struct world *world = world_new(NULL);

    scene = (struct scene){ .world = world, .copy = "", .act = chosen, .host_acts = host_acts };
    world->on_assist = host;
    phase->open();
    scene.call = phase->call;
    world->decide = in_the_driver;
    if (!scene.call)
        act();
    world_settle(world);
    rest();
    assert_at_rest(phase);
}

START_TEST(every_phase_meets_every_reset_and_late_reports) {
    unsigned step = WALK_STEP, number = WALK_FIRST;

    for (unsigned p = 0; p < LENGTH(phases); p++)
        for (unsigned a = 0; a < LENGTH(acts); a++)
            for (int host_acts = 0; host_acts <= (int)phases[p].by_host; host_acts++)
                if ((phases[p].copies || !strstr(acts[a].path, "/C")) && number++ % step == 0)
                    hold_meeting(&phases[p], &acts[a], host_acts);
}
END_TEST

CHECK_MAIN("snapshot_resets", every_phase_meets_every_reset_and_late_reports)
