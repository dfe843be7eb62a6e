/*
 * A config that clients publish, write to and revert, and the agent of its node, in an order that
 * a seed decides: the agent acts on documents read some time ago, dies and comes back, and its
 * reports may arrive long after. Admitted clients find all writes since the last revert, or the
 * data of the snapshot.
 */
#include "tests/lib/declared.h"

#include <stdio.h>

#define WALKS 30
#define STEPS 400
#define SHOTS 2
#define ASKED 20 /* requests, some of them again and again */

struct assignment { /* as replication/node/assignment.h has it */
    bool wanted, claimed, admits_clients;
    int64_t generation, epoch, number, attempt;
    unsigned snapshot;
    bool done;
};

struct agent { /* as replication/node/controller_revert.c does it */
    struct assignment assignment;
    bool has_target, copies;
    int64_t number, attempt, reverted;
};

struct walk {
    struct work *work;
    uint64_t seed;
    const char *config, *shots[SHOTS];
    struct agent agent;
    bool calm;
    const char *late;           /* from an agent that is dead; NULL: nothing */
    unsigned content, expected; /* 1 to SHOTS: the data of that snapshot */
    unsigned written;
    bool torn;
    bool begun[SHOTS][ASKED];
    unsigned reverts, answers; /* so something has happened */
};

static unsigned draw(struct walk *walk, unsigned below) {
    uint64_t value = walk->seed += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((value ^ (value >> 31)) % below);
}

static bool chance(struct walk *walk, unsigned percent) {
    return !walk->calm && draw(walk, 100) < percent;
}

static int64_t int_at(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static bool is_pending(struct walk *walk) {
    return strcmp(config_at(walk->work, walk->config, "status.revert.phase"), "\"Pending\"") == 0;
}

/* ---- the agent ---- */

static void agent_reads(struct walk *walk) {
    const struct document volume = volume_of(walk->work, walk->config);
    const json_t *spec = json_object_get(volume.body, "spec");
    const json_t *revert = json_object_get(spec, "revert");
    const json_t *reported = json_object_get(volume.status, "revert");
    const char *uid = json_text_of(revert, "uid"), *phase = json_text_of(reported, "phase");
    struct assignment *assignment = &walk->agent.assignment;

    *assignment = (struct assignment){
        .wanted = volume.node && strcmp(json_text_of(spec, "nodeId"), "host-a") == 0,
        .claimed = int_at(volume.status, "claimedEpoch") >= int_at(spec, "epoch"),
        .admits_clients = !revert && !json_is_false(json_object_get(spec, "serve")),
        .generation = volume.generation,
        .epoch = int_at(spec, "epoch"),
        .number = int_at(revert, "number"),
        .attempt = int_at(reported, "attempt"),
    };
    assignment->done =
        phase && strcmp(phase, "Done") == 0 && int_at(reported, "number") == assignment->number;
    for (unsigned i = 0; uid && i < SHOTS; i++)
        if (strcmp(uid, walk->shots[i]) == 0)
            assignment->snapshot = i + 1;
}

static void stop_target(struct agent *agent) {
    agent->has_target = agent->copies = false;
    agent->attempt = agent->reverted = 0;
}

static void copy(struct walk *walk) {
    struct agent *agent = &walk->agent;

    if (chance(walk, 20)) {
        stop_target(agent);
    } else if (!chance(walk, 50)) {
        agent->copies = walk->torn = false;
        agent->reverted = agent->number;
        walk->content = agent->assignment.snapshot;
    }
}

static void revert(struct walk *walk) {
    struct agent *agent = &walk->agent;
    const struct assignment *assignment = &agent->assignment;

    if (agent->copies) {
        copy(walk);
        return;
    }
    if (assignment->done || agent->reverted == assignment->number)
        return;
    if (agent->attempt == 0 || agent->attempt < assignment->attempt)
        agent->attempt = assignment->attempt + 1;
    if (agent->attempt != assignment->attempt)
        return;
    ck_assert_msg(is_pending(walk), "a revert begins that has come to its end");
    agent->copies = walk->torn = true;
}

static const char *report_of(struct walk *walk) {
    const struct agent *agent = &walk->agent;
    const struct assignment *assignment = &agent->assignment;
    struct arena *arena = walk->work->arena;
    const char *target = arena_format(arena,
                                      ",\"target\":{\"nodeId\":\"host-a\",\"state\":\"Serving\","
                                      "\"epoch\":%jd}",
                                      (intmax_t)assignment->epoch);
    const char *reverts =
        arena_format(arena, ",\"revert\":{\"number\":%jd,\"attempt\":%jd,\"phase\":\"%s\"}",
                     (intmax_t)assignment->number, (intmax_t)agent->attempt,
                     agent->reverted == assignment->number ? "Done" : "Pending");

    return arena_format(arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"1Gi\",\"observedGeneration\":%jd"
                        "%s%s}",
                        (intmax_t)assignment->generation,
                        assignment->wanted || agent->has_target ? target : "",
                        assignment->number > 0 && agent->attempt > 0 ? reverts : "");
}

static void deliver(struct walk *walk, const char *report) {
    const struct document volume = volume_of(walk->work, walk->config);
    struct document after;
    struct error err;

    (void)document_status_put(walk->work, &volume, "host-a", tree(walk->work, report), &after,
                              &err);
}

static void agent_acts(struct walk *walk) {
    struct agent *agent = &walk->agent;
    const struct assignment *assignment = &agent->assignment;

    if (agent->has_target && (!assignment->wanted || agent->number != assignment->number))
        stop_target(agent);
    if (!agent->has_target && assignment->wanted && assignment->claimed) {
        agent->has_target = true;
        agent->number = assignment->number;
    }
    if (agent->has_target && agent->number > 0)
        revert(walk);
    if (chance(walk, 15)) { /* it dies while its report is in transit */
        walk->late = report_of(walk);
        *agent = (struct agent){ .has_target = false };
        agent_reads(walk);
    } else if (!chance(walk, 20)) {
        deliver(walk, report_of(walk));
    }
}

static void late_arrives(struct walk *walk) {
    if (walk->late)
        deliver(walk, walk->late);
    walk->late = NULL;
}

/* ---- the others ---- */

static void controller_acts(struct walk *walk) {
    bool was_pending = is_pending(walk);
    struct error err;

    ck_assert_int_ge(reconcile_config(walk->work, walk->config, &err), 0);
    if (!was_pending || is_pending(walk))
        return;
    walk->expected =
        strstr(config_at(walk->work, walk->config, "status.revert.uid"), walk->shots[0]) ? 1 : 2;
    walk->reverts++;
    ck_assert_msg(!walk->torn && walk->content == walk->expected, "it is not done");
}

/* Each request begins once, also when it is put back, and after any others. */
static void client_reverts(struct walk *walk) {
    unsigned shot = draw(walk, SHOTS), requested = draw(walk, ASKED);
    const char *number = config_at(walk->work, walk->config, "status.revert.number");
    struct error err;

    (void)edit(walk->work, walk->config,
               arena_format(walk->work->arena,
                            "{\"publish\":{\"nodeId\":\"\"},\"spec\":{\"revert\":"
                            "{\"snapshotName\":\"s%u\",\"request\":\"%u\"}}}",
                            shot, requested),
               &err);
    if (strcmp(number, config_at(walk->work, walk->config, "status.revert.number")) == 0)
        return;
    ck_assert_msg(!walk->begun[shot][requested], "s%u, %u begins twice", shot, requested);
    walk->begun[shot][requested] = true;
}

static void client_edits(struct walk *walk) {
    static const char *const patches[] = { "{\"publish\":{\"nodeId\":\"host-a\"}}",
                                           "{\"publish\":{\"nodeId\":\"\"}}" };
    unsigned what = draw(walk, 4);
    struct error err;

    if (what < 2)
        (void)edit(walk->work, walk->config, patches[what], &err);
    else
        client_reverts(walk);
}

static void client_writes(struct walk *walk) {
    const struct agent *agent = &walk->agent;

    if (!agent->has_target || agent->number > 0 || !agent->assignment.admits_clients)
        return;
    ck_assert_msg(!walk->torn && walk->content == walk->expected, "%s, %u and not %u",
                  walk->torn ? "torn" : "whole", walk->content, walk->expected);
    walk->content = walk->expected = SHOTS + ++walk->written;
    walk->answers++;
}

/* ---- the walk ---- */

static void prepare(struct walk *walk) {
    struct work *work = walk->work;
    struct error err;

    for (unsigned i = 0; i < 3; i++)
        put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i), "host-a", 900 * GIB);
    walk->config = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 3, ""));
    settle(work, walk->config);
    report_made(work, walk->config);
    settle(work, walk->config);
    for (unsigned i = 0; i < SHOTS; i++) {
        walk->shots[i] = declare(
            work, &kind_volume_config_snapshot,
            arena_format(work->arena,
                         "{\"metadata\":{\"name\":\"s%u\"},\"spec\":{\"volumeName\":\"db\"}}", i));
        ck_assert_int_eq(
            db_run(work->tx, &err, "UPDATE documents SET status = $1 WHERE id = $2",
                   DB_TEXT("{\"phase\":\"Ready\",\"creationTime\":\"2026-01-01T00:00:00Z\","
                           "\"capacity\":{\"storage\":\"1Gi\"},\"poolInfo\":[\"pool-a\"]}"),
                   DB_TEXT(walk->shots[i])),
            1);
    }
    agent_reads(walk);
}

static void step(struct walk *walk) {
    static void (*const steps[])(struct walk *) = {
        agent_reads,     agent_reads,   agent_acts,   agent_acts,   agent_acts,
        controller_acts, client_writes, client_edits, late_arrives,
    };

    steps[draw(walk, LENGTH(steps))](walk);
}

/* Without further crashes the requested revert completes. */
static void calm_down(struct walk *walk) {
    struct error err;

    walk->calm = true;
    for (int i = 0; i < 20; i++) {
        agent_reads(walk);
        agent_acts(walk);
        controller_acts(walk);
    }
    ck_assert(!is_pending(walk));
    ck_assert_int_eq(edit(walk->work, walk->config, "{\"publish\":{\"nodeId\":\"host-a\"}}", &err),
                     0);
    for (int i = 0; i < 10; i++) {
        controller_acts(walk);
        agent_reads(walk);
        agent_acts(walk);
    }
    ck_assert(walk->agent.has_target && walk->agent.assignment.admits_clients);
    client_writes(walk);
}

static uint64_t number_of_walk;
static unsigned reverts, answers;

static void walk_once(struct work *work, struct error *err) {
    struct walk walk = { .work = work,
                         .seed = number_of_walk << 32,
                         .content = SHOTS + 1,
                         .expected = SHOTS + 1,
                         .written = 1 };

    (void)err;
    prepare(&walk);
    for (int i = 0; i < STEPS; i++)
        step(&walk);
    calm_down(&walk);
    reverts += walk.reverts;
    answers += walk.answers;
}

/* WALKS=1000 runs more of them, and prints each; WALK_SEED=7 repeats one. */
START_TEST(admitted_clients_read_permitted_data_only) {
    const char *given = getenv("WALK_SEED"), *more = getenv("WALKS");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    uint64_t walks = given ? 1 : more ? strtoull(more, NULL, 10) : WALKS;

    for (uint64_t n = given ? 0 : WALK_FIRST; n < walks; n += WALK_STEP) {
        number_of_walk = first + n;
        if (more)
            fprintf(stderr, "walk %ju\n", (uintmax_t)number_of_walk);
        run_in_work(walk_once);
    }
    ck_assert(given || !WALK_IS_WHOLE || (reverts > 0 && answers > 0));
    if (more)
        fprintf(stderr, "%u reverts, %u answers\n", reverts, answers);
}
END_TEST

CHECK_MAIN("revert_walk", admitted_clients_read_permitted_data_only)
